import { unreachable } from '../../core/errors.js';
import type { PriceAnswer, PriceFault, PriceRefusal } from '../../core/pricing/price-source.js';
import { finding, type Finding } from '../../core/meta/conditions.js';
import type { ConditionReason } from '../../core/meta/condition-reasons.js';

const reasons = {
  STALE: 'Stale',
  DEVIATION: 'Deviation',
  JUMP: 'Jump',
  TOO_FEW: 'TooFewSources',
  DECIMALS_MISMATCH: 'DecimalsMismatch',
  SYMBOL_MISMATCH: 'SymbolMismatch',
  UNREACHABLE: 'Unreachable',
  REVERTED: 'Reverted',
  MALFORMED: 'Malformed',
  OUT_OF_RANGE: 'OutOfRange',
  INCOMPLETE: 'Incomplete',
  SEQUENCER_DOWN: 'SequencerDown',
} as const satisfies Record<PriceFault, ConditionReason<'PriceUsable'>>;

/**
 * Whether a price of a fee token or a native coin can be used. Names sources and limits. Rates and ages move all the time, so they are metrics.
 */
export function priceFinding(answer: PriceAnswer | undefined): Finding {
  if (answer === undefined) return finding('PriceUsable', 'Unknown');
  if (answer.ok) return finding('PriceUsable', 'Usable');
  return finding('PriceUsable', reasons[answer.refusal.reason], `${capitalised(sentence(answer.refusal))}.`);
}

/** What is wrong and what to do, without figures that change by themselves. */
function sentence(refusal: PriceRefusal): string {
  const { source } = refusal;
  switch (refusal.reason) {
    case 'STALE':
      return `${source} is older than ${refusal.maxAgeSeconds} s: check the source, or raise its maximum age`;
    case 'DEVIATION':
      return `${refusal.lowest.source} and ${refusal.highest.source} are more than ${refusal.maxDeviationPercent} % apart: find out which one is wrong`;
    case 'JUMP':
      return `${source} has fallen too far below the last price that was accepted: find out which is wrong; where the fall is real, set acceptedAt beside the source to the present time`;
    case 'TOO_FEW':
      return `${refusal.needed} sources are needed, and these give no price: ${refusal.faults.map(sentence).join('; ')}`;
    case 'DECIMALS_MISMATCH':
      return `${source} has ${refusal.found} decimals: correct spec.decimals, which says ${refusal.declared}`;
    case 'SYMBOL_MISMATCH':
      return `${source} calls itself "${refusal.found}": correct spec.symbol, which says "${refusal.declared}"`;
    case 'OUT_OF_RANGE':
      return `${source} answers what is not a plausible price: check what it quotes`;
    case 'INCOMPLETE':
      return `${source} has no answer in its newest round: wait, or name another feed`;
    case 'SEQUENCER_DOWN':
    case 'UNREACHABLE':
    case 'REVERTED':
    case 'MALFORMED':
      return `${source} ${refusal.detail}`;
    default:
      return unreachable(refusal);
  }
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
