import { createPostgresLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { messageOf } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { createReplays } from '../../../server/replay/replays.js';

/** A replica of the dashboard whose replays never end by themselves: it starts one for each message. */
export type Said = { readonly id: string } | { readonly error: string };

const [url = ''] = process.argv.slice(2);
const ledger = createPostgresLedger({ address: parsePostgresUrl('url', url), clock: systemClock });
const replays = createReplays({
  ledger: {
    ...ledger,
    inputs: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
  },
  register: ledger.replays,
  clock: systemClock,
  log: silentLogger,
});

process.on('message', () => {
  const range = { from: 0 as EpochMs, to: 60_000 as EpochMs };
  const configOf = async () => ({ paymasters: [], chains: [] });
  replays.start({ organisation: 'acme', configOf, ...range }).then(
    ({ status: { id } }) => process.send?.({ id } satisfies Said),
    (error: unknown) => process.send?.({ error: messageOf(error) } satisfies Said),
  );
});
process.on('disconnect', () => process.exit(0));
