// What each test file cost. `test/run.mjs` sets PAYMASTER_TEST_TIMES, and makes `test-results/times.json` of the lines written here.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

const target = process.env['PAYMASTER_TEST_TIMES'];
const ticksPerSecond = 100;
let children = [];
// A process has no name yet when the channel tells of it.
if (target !== undefined) subscribe('child_process', ({ process: child }) => void children.push(child));

/** Returns a function that writes the line of the file: its seconds, the processor seconds, and the servers that it started. */
export function beginTimes(file) {
  if (target === undefined) return () => {};
  children = [];
  const begun = { at: performance.now(), cpu: cpuSeconds() };
  return () => {
    const seconds = (performance.now() - begun.at) / 1000;
    const cpu = cpuSeconds() - begun.cpu;
    appendFileSync(target, `${JSON.stringify({ file, seconds, cpu, ...starts() })}\n`);
  };
}

/** Of this process and its children that have ended; a child that still runs counts for nothing. */
function cpuSeconds() {
  try {
    // The name of the program, in parentheses, may hold blanks.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

function starts() {
  const count = (isIt) => children.filter(isIt).length;
  const runs = (name) => (child) => basename(child.spawnfile ?? '') === name;
  return {
    chains: count(runs('anvil')),
    postgres: count(runs('postgres')),
    apiServers: count(runs('kube-apiserver')),
    standalones: count((child) =>
      child.spawnargs?.some((argument) => /\bstandalone(\/main)?\.js$/.test(argument)),
    ),
  };
}
