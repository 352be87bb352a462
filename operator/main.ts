import { runProcess } from '../adapters/process/run-process.js';
import { operatorSettings, parseOperatorConfig } from './config.js';
import { startOperatorProcess } from './process.js';

// Entry point of the operator: environment → configuration → reconciling, until a signal or the loss of leadership.

process.exit(
  await runProcess({
    name: 'operator',
    parse: () => parseOperatorConfig(process.env),
    settings: operatorSettings,
    start: startOperatorProcess,
  }),
);
