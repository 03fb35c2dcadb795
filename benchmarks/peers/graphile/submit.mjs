// Submit jobs to work.mjs, each at its instant, through graphile-worker's own client.

import { makeWorkerUtils } from "graphile-worker";

import { submitAll } from "../starts.mjs";

const utils = await makeWorkerUtils({ connectionString: process.env.PEER_DSN });
await submitAll((payload) => utils.addJob("begin", payload));
await utils.release();
