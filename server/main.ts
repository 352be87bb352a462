import { runProcess } from '../adapters/process/run-process.js';
import { parseServerConfig } from './config.js';
import { startServerProcess } from './process.js';

// Entry point of the rpc and dashboard roles: environment → configuration → serving, until a signal.

process.exit(
  await runProcess({
    name: 'server',
    parse: () => parseServerConfig(process.env),
    start: startServerProcess,
  }),
);
