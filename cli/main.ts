#!/usr/bin/env node
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { runCommand } from './program.js';
import { Refused } from './terminal.js';

// Entry point of `paymaster`, and of `kubectl paymaster`.

const error = (text: string): void => void process.stderr.write(text);

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  error,
  readSecret: (prompt) => readSecret(process.stdin, prompt, error),
});

/** A line of a terminal that is not shown, or all of a pipe. Throws Refused when it is given up. */
async function readSecret(
  input: NodeJS.ReadStream,
  prompt: string,
  write: (text: string) => void,
): Promise<string> {
  if (!input.isTTY) return (await input.toArray()).join('');
  write(prompt);
  // The terminal itself does not echo while the line is edited here, and what is edited goes nowhere.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const line = createInterface({ input, output, terminal: true });
  try {
    return await new Promise((resolve, reject) => {
      line.once('line', resolve);
      line.once('SIGINT', () => reject(new Refused('given up')));
      line.once('close', () => reject(new Refused('given up')));
    });
  } finally {
    line.close();
    write('\n');
  }
}
