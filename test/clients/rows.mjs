import { basename } from 'node:path';

/** Reporter of node:test: one line of JSON for each test, `{ file, flow, result, milliseconds }`; suites are the front part of `flow`. */
export default async function* rows(events) {
  /** Names of the suites that are open, of each file. */
  const open = new Map();
  let depth = 0;
  for await (const { type, data } of events) {
    if (type !== 'test:start' && type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, nesting, file, details } = data;
    if (type === 'test:start') {
      open.set(file, [...(open.get(file) ?? []).slice(0, nesting), name]);
      continue;
    }
    // What holds other tests is passed after them, and told by theirs.
    const holdsOthers = nesting < depth;
    depth = nesting;
    if (details.type === 'suite' || holdsOthers) continue;
    const path = [...(open.get(file) ?? []).slice(0, nesting), name];
    const row = {
      file: basename(file),
      flow: path.join(': '),
      result: type === 'test:pass' ? 'passed' : 'FAILED',
    };
    yield `${JSON.stringify({ ...row, milliseconds: Math.round(details.duration_ms) })}\n`;
  }
}
