import { afterAll, beforeAll } from '@jest/globals';
import { heldMs } from '../../../../core/ledger/replay-register.js';
import { ledgerConformance } from '../../../conformance/ledger.js';
import { replayRegisterConformance } from '../../../conformance/replay-register.js';
import { startPostgres, type PostgresServer } from '../../../support/postgres.js';
import { openPostgresLedger, type WrittenLedger } from './written.js';

let server: PostgresServer;
const opened: WrittenLedger[] = [];

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await Promise.all(opened.map((ledger) => ledger.stop()));
  await server.stop();
});

ledgerConformance('PostgreSQL', async () => openPostgresLedger(await server.createDatabase()));

let registerUrl: string;
replayRegisterConformance(
  'PostgreSQL',
  async () => {
    registerUrl = await server.createDatabase();
    const ledger = openPostgresLedger(registerUrl);
    opened.push(ledger);
    return ledger.replays;
  },
  async (organisation) => {
    await server.query(
      registerUrl,
      `UPDATE ledger.replays SET reported_at = reported_at - interval '${heldMs} milliseconds'
       WHERE organisation = '${organisation}'`,
    );
  },
);
