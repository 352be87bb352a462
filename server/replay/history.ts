import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { DecisionView } from '../../core/ledger/query.js';
import { limitWindowAt } from '../../core/usage/limit-window.js';
import type { ReservationKey } from '../../core/usage/reservation.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';

/** What a paymaster had promised before a replay begins. */
export type PastPromise = {
  readonly key: ReservationKey;
  readonly at: EpochMs;
  readonly campaign: string | undefined;
  readonly maxCostWei: bigint;
  readonly validUntil: EpochSeconds;
  /** What it has cost; undefined: it was not mined yet. */
  readonly spentWei: bigint | undefined;
};

const pageSize = 1000;
/** A longer past is cut, and the answer says so. */
const mostPast = 1_000_000;

type Past = { readonly promises: readonly PastPromise[]; readonly isComplete: boolean };

/**
 * What counts in the windows that contain `from`: the promises that were made in them before, page by page. The state at
 * `from` follows from decisions and settlements, which are kept longer than inputs. A limit of the proposed configuration
 * finds there what it would have counted. Paymasters without limits have no past.
 */
export async function* pastOf(
  ledger: Pick<Ledger, 'decisions'>,
  organisation: string,
  paymasters: readonly Pick<PaymasterConfig, 'paymasterId' | 'limits'>[],
  from: EpochMs,
): AsyncGenerator<Past> {
  let counted = 0;
  for (const { paymasterId, limits } of paymasters) {
    const since = Math.min(from, ...limits.map((limit) => limitWindowAt(limit, from).from)) as EpochMs;
    if (since === from) continue;
    const query = { organisation, paymasterId, verdict: 'sponsored', from: since, to: from } as const;
    for (let before: string | undefined, isLast = false; !isLast;) {
      const page = await ledger.decisions({
        ...query,
        limit: pageSize,
        ...(before === undefined ? {} : { before }),
      });
      before = page.next;
      counted += page.decisions.length;
      isLast = before === undefined || counted >= mostPast;
      const promises = page.decisions.flatMap((view) => promiseOf(view, from) ?? []);
      yield { promises, isComplete: before === undefined };
      if (counted >= mostPast) return;
    }
  }
}

/** Undefined: limits do not count it. */
function promiseOf({ decision, settlement }: DecisionView, from: EpochMs): PastPromise | undefined {
  const { chainId, paymasterId, entryPoint, sender, nonce, at, mode, maxCostWei, validUntil } = decision;
  if (mode !== 'SPONSORED' || maxCostWei === undefined || validUntil === undefined) return undefined;
  const ended = settlement !== undefined && settlement.at < from ? settlement : undefined;
  if (ended !== undefined && ended.mined === undefined) return undefined;
  const key = { chainId, paymasterId, entryPoint, sender, nonce };
  const campaign = decision.policies.find(({ effect }) => effect === 'campaign')?.policyId;
  return { key, at, campaign, maxCostWei, validUntil, spentWei: ended?.mined?.actualGasCostWei };
}
