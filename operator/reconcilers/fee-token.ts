import type { CompiledChain } from '../../core/config/compile-chain.js';
import { summarise } from '../../core/config/summary.js';
import { findCondition, finding, type Finding } from '../../core/meta/conditions.js';
import type { FeeToken } from '../../core/resources/fee-token.js';
import type { PriceFacts } from '../facts/price-facts.js';
import { priceFinding, recall } from './findings.js';
import { runAll, type StatusWriter } from './status.js';

/** Statuses of the FeeTokens of a chain; `chain` is undefined when no Chain offers it. */
export async function writeFeeTokens(
  { statuses, prices }: { readonly statuses: StatusWriter; readonly prices: Pick<PriceFacts, 'answer'> },
  feeTokens: readonly FeeToken[],
  chain: { readonly compiled: CompiledChain; readonly programmed: Finding } | undefined,
): Promise<void> {
  await runAll(
    feeTokens.map((feeToken) => async () => {
      const own = chain === undefined ? withoutChain(feeToken) : onChain(feeToken, chain, prices);
      await statuses.write('FeeToken', feeToken, [...own, readyFinding(feeToken, own)], {});
    }),
  );
}

/** Mistakes in what somebody has written, and faults that do not pass by themselves. */
const lastingFaults: ReadonlySet<string> = new Set(['DecimalsMismatch', 'SymbolMismatch']);

/**
 * A stale price or an unreachable source passes by itself: PriceUsable shows it, and Ready stays. A token that differs
 * from its description is not ready, and an outage of its source meanwhile does not make it ready.
 */
function readyFinding({ status, metadata }: FeeToken, findings: readonly Finding[]): Finding {
  const before = findCondition(status?.conditions, 'Ready');
  const wasWrong = before?.reason === 'PriceNotUsable' && before.observedGeneration === metadata.generation;
  const isPassing = ({ type, status: state, reason }: Finding): boolean =>
    type === 'PriceUsable' && state === 'False' && !wasWrong && !lastingFaults.has(reason);
  return summarise(findings.filter((each) => !isPassing(each)));
}

function withoutChain({ spec }: FeeToken): readonly Finding[] {
  const message = `No Chain with chainId ${spec.chainId} is offered: create it, or correct spec.chainId.`;
  return [
    finding('Accepted', 'Accepted'),
    finding('ResolvedRefs', 'ChainNotFound', message),
    finding('Programmed', 'Pending'),
  ];
}

function onChain(
  feeToken: FeeToken,
  { compiled, programmed }: { readonly compiled: CompiledChain; readonly programmed: Finding },
  prices: Pick<PriceFacts, 'answer'>,
): readonly Finding[] {
  const own = compiled.feeTokens.find(({ object }) => object === feeToken);
  const accepted = own?.accepted ?? finding('Accepted', 'Accepted');
  const resolved = finding('ResolvedRefs', 'ResolvedRefs');
  // Only tokens that are served are asked about.
  if (accepted.status !== 'True')
    return [accepted, resolved, finding('Programmed', 'NotAccepted', accepted.message)];
  const { status, metadata } = feeToken;
  const price = recall(priceFinding(prices.answer(feeToken.spec)), status?.conditions, metadata.generation);
  const warnings = own?.checksum === undefined ? [] : [own.checksum];
  return [accepted, resolved, programmed, price, ...warnings];
}
