// Flows of steps in sequence: add them all, run them, and say how long each of the two took; or, if
// asked to, add them in a thread of their own while they run, and say how long that took together.
// Reads one JSON request from standard input, writes one JSON answer to standard output.

import { text } from "node:stream/consumers";
import { isMainThread, Worker as Thread, workerData } from "node:worker_threads";

import { FlowProducer, Worker } from "bullmq";

const QUEUE = "chain";
const ADDED_AT_ONCE = 100;

const request = workerData ?? JSON.parse(await text(process.stdin));
const { connection, concurrency, chains, steps, together } = request;

// A parent runs once its child has: the first step is the innermost.
function chain() {
  let flow = null;
  for (let step = 1; step <= steps; step += 1) {
    flow = { name: `s${step}`, queueName: QUEUE, ...(flow && { children: [flow] }) };
  }
  return flow;
}

async function add() {
  const producer = new FlowProducer({ connection });
  const started = performance.now();
  for (let added = 0; added < chains; added += ADDED_AT_ONCE) {
    const count = Math.min(ADDED_AT_ONCE, chains - added);
    await producer.addBulk(Array.from({ length: count }, chain));
  }
  const seconds = (performance.now() - started) / 1000;
  await producer.close();
  return seconds;
}

function addMeanwhile(failed) {
  const thread = new Thread(new URL(import.meta.url), { workerData: request });
  thread.on("error", failed);
}

async function run() {
  const worker = new Worker(QUEUE, async () => {}, { connection, concurrency, autorun: false });
  await worker.waitUntilReady();
  let jobs = 0;
  let ended = 0;
  const allEnded = new Promise((resolve, reject) => {
    worker.on("completed", (job) => {
      jobs += 1;
      ended += job.name === `s${steps}` ? 1 : 0;
      if (ended === chains) resolve();
    });
    worker.on("failed", (_job, error) => reject(error));
    worker.on("error", reject);
    if (together) addMeanwhile(reject);
  });
  const started = performance.now();
  const working = worker.run();
  await allEnded;
  const seconds = (performance.now() - started) / 1000;
  await worker.close();
  await working;
  return { jobs, seconds };
}

if (!isMainThread) {
  await add();
} else {
  const addSeconds = together ? 0 : await add();
  const { jobs, seconds } = await run();
  console.log(JSON.stringify({ jobs, seconds, add_seconds: addSeconds }));
}
