#!/usr/bin/env node
import { runCommand } from './program.js';

// Entry point of `paymaster`, and of `kubectl paymaster`.

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
});
