// Fill a graphile-worker of its own, drain it, and say how long the drain took and what it used.
// Reads one JSON request from standard input, writes one JSON answer to standard output.

import { EventEmitter } from "node:events";
import { openSync, writeSync } from "node:fs";
import { text } from "node:stream/consumers";

import { Logger, makeWorkerUtils, runOnce } from "graphile-worker";
import pg from "pg";

import { cpuSince, postmasterOf, readCpu } from "../cpu.mjs";

const CONNECTIONS = 5;
const NOWHERE = openSync("/dev/null", "w");
const SIXTEEN_BYTES = Buffer.from("0123456789abcdef");

const { dsn, schema, jobs, payload, task } = JSON.parse(await text(process.stdin));

const preset = {
  worker: {
    schema,
    concurrentJobs: 24,
    maxPoolSize: CONNECTIONS,
    localQueue: { size: 2000 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    // Standard output is for the answer alone.
    logger: new Logger(() => (level, message) => {
      if (level === "error") console.error(message);
    }),
  },
};

const pgPool = new pg.Pool({ connectionString: dsn, max: CONNECTIONS });
const complain = (error) => console.error(error);
pgPool.on("error", complain);
pgPool.on("connect", (client) => client.on("error", complain));

async function fill() {
  await pgPool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  const utils = await makeWorkerUtils({ pgPool, preset });
  await utils.migrate();
  await utils.addJobs(Array.from({ length: jobs }, () => ({ identifier: task, payload })));
  await utils.release();
  // As every other table here is settled before its drain.
  await pgPool.query(`VACUUM (ANALYZE) ${schema}._private_jobs`);
}

async function drain() {
  let done = 0;
  const taskList = {
    noop: () => void (done += 1),
    write: async () => {
      writeSync(NOWHERE, SIXTEEN_BYTES);
      done += 1;
    },
  };
  // Its look at the schema comes first and is no part of the drain either.
  const postmaster = await postmasterOf(pgPool);
  let before = readCpu(postmaster);
  let started = performance.now();
  const events = new EventEmitter();
  events.once("pool:create", () => {
    before = readCpu(postmaster);
    started = performance.now();
  });
  await runOnce({ pgPool, preset, taskList, events, noHandleSignals: true });
  const seconds = (performance.now() - started) / 1000;
  return { jobs: done, seconds, cpu: cpuSince(before, postmaster) };
}

// Connecting is no part of the drain: PgQueuer's pool is open before its clock starts, too.
async function openEveryConnection() {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pgPool.connect()));
  for (const client of clients) client.release();
}

await fill();
await openEveryConnection();
const drained = await drain();
const { rows } = await pgPool.query(`SELECT count(*)::int AS left FROM ${schema}._private_jobs`);
if (rows[0].left !== 0) throw new Error(`${rows[0].left} jobs are left`);
await pgPool.query(`DROP SCHEMA ${schema} CASCADE`);
await pgPool.end();
console.log(JSON.stringify(drained));
