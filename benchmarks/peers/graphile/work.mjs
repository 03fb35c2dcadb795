// A graphile-worker whose task says when it began; its settings are those of its performance page.

import { Logger, run } from "graphile-worker";

import { note, serve } from "../starts.mjs";

const runner = await run({
  preset: {
    worker: {
      connectionString: process.env.PEER_DSN,
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      // Standard output is for `ready:` alone.
      logger: new Logger(() => (level, message) => {
        if (level === "error") console.error(message);
      }),
    },
  },
  noHandleSignals: true,
  taskList: { begin: async (payload) => note(payload) },
});
serve(() => runner.stop());
