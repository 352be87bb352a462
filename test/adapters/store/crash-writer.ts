import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../../adapters/resources/sqlite/resources.js';
import { systemClock as clock } from '../../../core/units/time.js';
import { aPaymasterConfig } from '../../build/configs.js';

/** Process of sqlite-crash.component.test.ts: writes without end, and prints each acknowledged write on stdout. */
const db = openDatabase(process.argv[2] ?? '', { durability: 'process', exclusive: true });
const resources = createSqliteResourceStore({ db, clock });
const configs = createSqliteConfigStore({ db, clock });

for (let n = Number(process.argv[3]); ; n++) {
  const name = `shop-${n % 20}`;
  const written = await resources.apply({
    manager: 'writer',
    kind: 'Paymaster',
    key: { namespace: 'acme', name },
    spec: { name, chainId: 1, type: 'HYBRID', version: '1.1.0', keyGeneration: n },
    labels: { round: String(n) },
  });
  const put = await configs.putPaymaster(aPaymasterConfig({ paymasterId: name, maxExpirySeconds: n }));
  const line = {
    name,
    version: written.metadata.resourceVersion,
    round: n,
    generation: put.configGeneration,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  // Waits while the pipe is full, so that the writer is never far ahead of the reader.
  if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
}
