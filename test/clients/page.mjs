// The part of docs/clients.md that says what `make test-clients` ran: one line for each client and flow, from the rows of that run.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const page = fileURLToPath(new URL('../../docs/clients.md', import.meta.url));
const [begin, end] = ['<!-- written by make test-clients -->', '<!-- end -->'];

/** Replaces that part of the page. */
export function writePage(rows) {
  const text = readFileSync(page, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`docs/clients.md must have a part from ${begin} to ${end}`);
  writeFileSync(page, `${before}${begin}\n\n${tableOf(rows)}\n\n${end}${after}`);
}

/** Versions of the service that differ in nothing else share a line. */
export function tableOf(rows) {
  const lines = new Map();
  for (const { client, flow, result } of rows) {
    const versions = [...flow.matchAll(versionIn)].map((match) => match[1] ?? match[2]);
    const plain = flow
      .replaceAll(versionIn, '')
      .replace(/, EntryPoint [\d.]+/, '')
      .replaceAll('|', '/');
    const key = `${client}\n${plain}\n${result}`;
    lines.set(key, [...(lines.get(key) ?? []), ...versions]);
  }
  const cells = [...lines].map(([key, versions]) => {
    const [client, flow, result] = key.split('\n');
    return `| ${client} | ${flow} | ${[...new Set(versions)].join(', ')} | ${result} |`;
  });
  return ['| client | flow | versions | result |', '|---|---|---|---|', ...cells].join('\n');
}

/** `, version 1.1.0`, `: version 1.1.0`, or `: 2.0.0` behind the name of an account. */
const versionIn = /[,:] version ([\w.-]+)|: ((?:[a-z]+-)?\d+\.\d+(?:\.\d+)?)(?=,)/g;
