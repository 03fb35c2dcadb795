// Submit jobs to work.mjs, each at its instant, through BullMQ's own client.

import { Queue } from "bullmq";

import { submitAll } from "../starts.mjs";

const queue = new Queue("begin", { connection: JSON.parse(process.env.PEER_CONNECTION) });
await submitAll((data) => queue.add("begin", data));
await queue.close();
