// What benchmarks/traffic/starts.py asks of a submitter and of a task, for peers on Node.

import { appendFileSync } from "node:fs";
import { text } from "node:stream/consumers";

// CLOCK_MONOTONIC, as Python's time.monotonic().
const now = () => Number(process.hrtime.bigint()) / 1e9;

// The first line of a task.
export function note({ path, number }) {
  const at = now();
  appendFileSync(path, `${number} ${at}\n`);
}

// Say that the worker works, and end with whoever started it.
export function serve(stop) {
  console.log("ready: worker");
  const end = () => stop().finally(() => process.exit(0));
  process.stdin.resume().once("end", end);
  process.once("SIGTERM", end);
}

// Call `submit` for each at its instant, whatever became of those before.
export async function submitAll(submit) {
  const { path, jobs, warm_up, per_second } = JSON.parse(await text(process.stdin));
  const at = [];
  const underWay = [];
  const started = now();
  for (let number = 0; number < warm_up + jobs; number += 1) {
    const wait = started + number / per_second - now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    at.push(now());
    underWay.push(submit({ path, number }));
  }
  await Promise.all(underWay);
  console.log(JSON.stringify({ at }));
}
