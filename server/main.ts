import { runProcess } from '../adapters/process/run-process.js';
import { parseServerConfig } from './config.js';
import { parseLedgerConfig } from './ledger-config.js';
import { startLedgerProcess } from './ledger-process.js';
import { startServerProcess } from './process.js';
import { ledgerRole } from './roles.js';

// Entry point of all roles of servers: environment → configuration → serving, until a signal.

process.exit(
  process.env['PAYMASTER_ROLES'] === ledgerRole
    ? await runProcess({
        name: 'ledger',
        parse: () => parseLedgerConfig(process.env),
        start: startLedgerProcess,
      })
    : await runProcess({
        name: 'server',
        parse: () => parseServerConfig(process.env),
        start: startServerProcess,
      }),
);
