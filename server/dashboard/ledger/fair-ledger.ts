import { FairSlots } from '../../../adapters/fair-slots.js';
import { DomainError } from '../../../core/errors.js';
import type { ChangeLog, ChangeQuery } from '../../../core/ledger/change.js';
import type { Ledger } from '../../../core/ledger/ledger.js';
import type { ObjectNames } from '../../../core/ledger/object-names.js';
import { given } from '../../../core/units/given.js';
import type { Principal } from '../auth.js';

/** What endpoints ask of the ledger. */
export type Questions = Pick<
  Ledger,
  'usage' | 'decisions' | 'decision' | 'funds' | 'statement' | 'prices' | 'spent' | 'past' | 'gaps'
> & {
  readonly changes?: Pick<ChangeLog, 'list'>;
  readonly names?: Pick<ObjectNames, 'list'>;
};
/** The ledger for the questions of one organisation. */
export type FairLedger = (organisation: string) => Questions;

/**
 * Only so many questions reach the ledger at once, one of each organisation, in turn: the ledger in files answers questions and
 * stores records in one thread, one after the other, and the one in PostgreSQL reads by four connections. The answers of an
 * organisation are bounded elsewhere, so every question here gets its turn.
 */
export function createFairLedger(ledger: Questions): FairLedger {
  const slots = new FairSlots({
    slots: 3,
    perKey: 1,
    waitingPerKey: Number.POSITIVE_INFINITY,
    maxWaitMs: 60_000,
  });
  const { changes, names } = ledger;
  return (organisation) => {
    const ask = <T>(question: () => Promise<T>): Promise<T> => slots.run(organisation, question);
    return {
      usage: (query) => ask(() => ledger.usage(query)),
      decisions: (query) => ask(() => ledger.decisions(query)),
      decision: (of, id) => ask(() => ledger.decision(of, id)),
      funds: (query) => ask(() => ledger.funds(query)),
      spent: (query) => ask(() => ledger.spent(query)),
      statement: (query) => ask(() => ledger.statement(query)),
      prices: (query) => ask(() => ledger.prices(query)),
      past: (query) => ask(() => ledger.past(query)),
      gaps: (query) => ask(() => ledger.gaps(query)),
      ...given({
        changes: changes && { list: (query: ChangeQuery) => ask(() => changes.list(query)) },
        names: names && {
          list: (...what: Parameters<ObjectNames['list']>) => ask(() => names.list(...what)),
        },
      }),
    };
  };
}

/** Throws LEDGER_OFF. */
export function requireLedger(
  { ledger }: { readonly ledger?: FairLedger },
  { tenant }: Pick<Principal, 'tenant'>,
): Questions {
  if (ledger === undefined) throw ledgerOff();
  return ledger(tenant);
}

/** Says what to set. */
export function ledgerOff(): DomainError {
  return new DomainError(
    'LEDGER_OFF',
    'No ledger is kept here: run the server without PAYMASTER_LEDGER=off (in the chart: ledger.enabled)',
  );
}
