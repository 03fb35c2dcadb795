// A worker of BullMQ whose processor says when it began.

import { Worker } from "bullmq";

import { note, serve } from "../starts.mjs";

const worker = new Worker("begin", async (job) => note(job.data), {
  connection: JSON.parse(process.env.PEER_CONNECTION),
  concurrency: Number(process.env.PEER_CONCURRENCY),
});
worker.on("error", (error) => console.error(error));
await worker.waitUntilReady();
serve(() => worker.close());
