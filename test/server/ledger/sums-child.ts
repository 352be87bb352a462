import { createPostgresLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { rollUpSlice } from '../../../adapters/store/ledger/roll-up.js';
import { openSqliteTables } from '../../../adapters/store/ledger/sqlite-tables.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { startMs } from '../../conformance/usage-requests.js';

// Adds records to the sums of usage until it is killed. Argument: the address of a database, or the path of an embedded store's file.
// It says on standard output when it has begun.

const [place = ''] = process.argv.slice(2);
const rollUp = place.startsWith('postgresql:') ? inPostgres() : inFile();
process.stdout.write('begins\n');
for (;;) {
  await rollUp();
  await new Promise(setImmediate);
}

function inPostgres(): () => Promise<boolean> {
  const address = parsePostgresUrl('url', place);
  const ledger = createPostgresLedger({ address, clock: { now: () => startMs } });
  return () => ledger.rollUp();
}

function inFile(): () => Promise<boolean> {
  const tables = openSqliteTables(place);
  return () => rollUpSlice(tables);
}
