#!/usr/bin/env node
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { existsSync, readFileSync } from 'node:fs';
import { completionLines } from './command-list.js';
import type { Known } from './program.js';

// Entry point of `paymaster`, and of `kubectl paymaster`.

// A reader that closes early, such as `head`, does not end the command: the work goes on, and its exit code stands.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (failed: NodeJS.ErrnoException) => {
    if (failed.code !== 'EPIPE') throw failed;
  });

const error = (text: string): void => void process.stderr.write(text);

// Written by the build beside the program. Where it is not, everything is loaded and looked at.
const knownFile = new URL('./commands.json', import.meta.url);
const known = existsSync(knownFile) ? (JSON.parse(readFileSync(knownFile, 'utf8')) as Known) : undefined;
const [command, ...words] = process.argv.slice(2);
if (command === 'complete' && known !== undefined)
  process.stdout.write(completionLines(known.program, words[0] === '--' ? words.slice(1) : words));
else process.exitCode = await run();

async function run(): Promise<number> {
  const { runCommand } = await import('./program.js');
  return runCommand(
    process.argv.slice(2),
    {
      env: process.env,
      out: (text) => void process.stdout.write(text),
      error,
      ...(process.stdout.isTTY && { clear: '\u001B[H\u001B[2J' }),
      readSecret: (prompt) => readSecret(process.stdin, prompt, error),
    },
    known,
  );
}

/** A line of a terminal that is not shown, or all of a pipe. Throws Refused when it is given up. */
async function readSecret(
  input: NodeJS.ReadStream,
  prompt: string,
  write: (text: string) => void,
): Promise<string> {
  if (!input.isTTY) return (await input.toArray()).join('');
  const { Refused } = await import('./terminal.js');
  // The terminal itself does not echo while the line is edited here, and what is edited goes nowhere.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const line = createInterface({ input, output, terminal: true });
  // Only now: before, the terminal would still echo what somebody types at once.
  write(prompt);
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
