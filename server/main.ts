import { runProcess } from '../adapters/process/run-process.js';
import { parseServerConfig, serverSettings } from './config.js';
import { startServerProcess } from './process.js';

// Entry point of servers of both roles: environment → configuration → serving, until a signal.

process.exit(
  await runProcess({
    name: 'server',
    parse: () => parseServerConfig(process.env),
    settings: serverSettings,
    start: startServerProcess,
  }),
);
