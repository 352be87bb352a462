import type { CompiledChain } from '../../core/config/compile-chain.js';
import { summarise } from '../../core/config/summary.js';
import { finding } from '../../core/resources/conditions.js';
import type { Finding } from '../../core/resources/conditions.js';
import type { FeeToken } from '../../core/resources/fee-token.js';
import { runAll } from './status.js';
import type { StatusWriter } from './status.js';

/** Statuses of the FeeTokens of a chain; `chain` is undefined when nobody offers it. */
export async function writeFeeTokens(
  { statuses }: { readonly statuses: StatusWriter },
  feeTokens: readonly FeeToken[],
  chain: { readonly compiled: CompiledChain; readonly programmed: Finding } | undefined,
): Promise<void> {
  await runAll(
    feeTokens.map((feeToken) => async () => {
      const own = chain === undefined ? withoutChain(feeToken) : onChain(feeToken, chain);
      await statuses.write('FeeToken', feeToken, [...own, summarise(own)], {});
    }),
  );
}

function withoutChain({ spec }: FeeToken): readonly Finding[] {
  const message = `No Chain with chainId ${spec.chainId} is offered: create it, or mend spec.chainId.`;
  return [
    finding('Accepted', 'Accepted'),
    finding('ResolvedRefs', 'ChainNotFound', message),
    finding('Programmed', 'Pending'),
  ];
}

function onChain(
  feeToken: FeeToken,
  { compiled, programmed }: { readonly compiled: CompiledChain; readonly programmed: Finding },
): readonly Finding[] {
  const accepted =
    compiled.feeTokens.find(({ object }) => object === feeToken)?.accepted ?? finding('Accepted', 'Accepted');
  const isStored = accepted.status === 'True';
  return [
    accepted,
    finding('ResolvedRefs', 'ResolvedRefs'),
    isStored ? programmed : finding('Programmed', 'NotAccepted', accepted.message),
  ];
}
