// CPU seconds of a process and of all below it, those that have ended included (benchmarks/cpu.py).

import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

function used(pid) {
  let stat, children;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  } catch {
    return 0; // it has just ended: the next reading has it among its parent's
  }
  // utime, stime, cutime and cstime, counted from behind the name, which may hold anything.
  const times = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 15);
  const own = times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
  return children.split(" ").filter(Boolean).reduce((sum, child) => sum + used(child), own);
}

// The process that all others of a PostgreSQL on this machine are children of.
export async function postmasterOf(pgPool) {
  const { rows } = await pgPool.query("SELECT pg_backend_pid() AS pid");
  const stat = readFileSync(`/proc/${rows[0].pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

export function readCpu(postmaster) {
  return { worker_seconds: used(process.pid), postgres_seconds: used(postmaster) };
}

export function cpuSince(before, postmaster) {
  const after = readCpu(postmaster);
  return {
    worker_seconds: after.worker_seconds - before.worker_seconds,
    postgres_seconds: after.postgres_seconds - before.postgres_seconds,
  };
}
