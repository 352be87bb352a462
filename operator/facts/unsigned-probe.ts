import type { BlockTag, Chain } from '../../core/chain/chain.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { isDomainError } from '../../core/errors.js';
import type { Layout } from '../../core/paymaster/layout.js';
import { parseAddressKey, toAddressKey } from '../../core/units/address.js';
import { callValidation, probeOperation, saysAccepted, validationCall } from './probe-operation.js';
import type { UnsignedLevel } from './facts.js';

type UnsignedProbe = {
  readonly chain: Pick<Chain, 'call'>;
  readonly profile: ProfileConfig;
  readonly layout: Layout;
  /** A contract may accept such data for some tokens alone. */
  readonly feeTokens: readonly Pick<FeeTokenSpec, 'address'>[];
  readonly block: BlockTag;
};

/** A token that no contract knows. */
const unknownToken = toAddressKey('0x8888888888888888888888888888888888888888');

/** Asks the token contract in the EntryPoint's name to validate data that nobody signed. */
export async function probeUnsigned(probe: UnsignedProbe): Promise<UnsignedLevel> {
  const { chain, profile, layout, feeTokens, block } = probe;
  const unsigned = layout.token?.unsigned;
  const to = profile.token;
  if (unsigned === undefined || to === undefined) return 'Unknown';
  const tokens = [unknownToken, ...feeTokens.map(({ address }) => parseAddressKey(address))];
  try {
    const answers = await Promise.all(
      tokens.map((token) => {
        const data = validationCall(layout, probeOperation, unsigned(to, token), 1n);
        return callValidation(chain, { from: profile.entryPoint, to, data, block });
      }),
    );
    return answers.some((answer) => answer !== undefined && saysAccepted(answer)) ? 'Accepted' : 'Refused';
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return 'Unknown';
    throw error;
  }
}
