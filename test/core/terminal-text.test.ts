import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { createLogger } from '../../adapters/log/pino-logger.js';
import { renderText, reportDocument } from '../../operator/validate/report.js';
import { show } from '../../cli/terminal.js';
import { createConsole, table } from '../../standalone/console.js';
import { formatStates } from '../../standalone/resource-state.js';
import { renderStatus } from '../../standalone/status/render.js';

/** Clears the screen, by C0 and C1; reverses the order of the text that follows; starts another line. */
const hostile = 'a\u001b[2Jb\u009b2Jc\u202ed\u2066e\u2028f';
const name = `${hostile}\ng`;
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Lines of a text, none of which may move a cursor or hide what it says. */
function lines(text: string): readonly string[] {
  return text.replace(/\n$/, '').split('\n');
}

describe('text of tenants and callers reaches no terminal as it is', () => {
  test('on the terminal of the standalone command', () => {
    let written = '';
    const console = createConsole((text) => (written += text), Date.now);
    console.line(name);
    console.warn(name);
    console.step(name)(name);
    for (const line of lines(written)) expect(line).not.toMatch(obeyed);
  });

  test('in a table, where it stays on its line', () => {
    expect(lines(table([[name, name]]))).toEqual([expect.not.stringMatching(obeyed)]);
  });

  test('in the state of a resource', () => {
    const state = { kind: name, key: name, phase: 'refused', reason: 'X', message: name, generation: 1 };
    for (const line of formatStates([state as never])) expect(line).not.toMatch(obeyed);
  });

  test('in the status of a running instance', () => {
    const row = new Proxy({}, { get: () => name });
    const status = {
      resources: [{ kind: 'Paymaster', key: name, phase: 'ready', reason: '', message: '', generation: 1 }],
      rules: [row],
      deposits: [row],
      spent: [row],
      decisions: [row],
      refusals: [row],
      missing: [name],
    };
    const shown = lines(renderStatus(status as never));
    for (const line of shown) expect(line).not.toMatch(obeyed);
    expect(shown.filter((line) => line.includes('g')).length).toBeGreaterThanOrEqual(7);
    expect(shown).not.toContain('g');
  });

  const report = {
    files: [name],
    objects: 1,
    leftOut: [{ file: name, what: name }],
    findings: [{ severity: 'error', file: name, line: 1, column: 1, message: name }],
  } as never;

  test('in what validate prints for people: one line for each finding', () => {
    const shown = lines(renderText(report));
    expect(shown).toHaveLength(3);
    for (const line of shown) expect(line).not.toMatch(obeyed);
  });

  test.each([
    { format: 'json', read: (text: string) => JSON.parse(text) },
    { format: 'yaml', read: (text: string) => parse(text) },
  ] as const)(
    'in what commands print as $format for programs, which read it unchanged',
    ({ format, read }) => {
      let written = '';
      const terminal = { env: {}, out: (text: string) => void (written += text), error: () => {} };
      show(terminal, format, { text: '', data: reportDocument(report) });
      for (const line of lines(written)) expect(line).not.toMatch(obeyed);
      expect(read(written)).toMatchObject({ findings: [{ message: name }] });
    },
  );

  test('in a log line, which programs read unchanged', () => {
    let written = '';
    const log = createLogger({ destination: { write: (line) => (written += line) } });
    log.info('refused', { detail: `${name}\u{e0041}` });
    for (const line of lines(written)) expect(line).not.toMatch(obeyed);
    expect(JSON.parse(written)).toMatchObject({ detail: `${name}\u{e0041}` });
  });
});
