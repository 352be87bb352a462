#!/usr/bin/env node
import { runCommand } from './program.js';
import { readSecret } from './read-secret.js';

// Entry point of `paymaster`, and of `kubectl paymaster`.

const error = (text: string): void => void process.stderr.write(text);

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  error,
  readSecret: (prompt) => readSecret(process.stdin, prompt, error),
});
