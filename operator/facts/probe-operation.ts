import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { SponsorshipTerms, TokenTerms } from '../../core/paymaster/layout.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';

/**
 * The operation whose hash is compared with the contract's own. Every field has a different value, so that a swapped or
 * missing field gives another hash.
 */
export const probeOperation: FinalUserOperation = {
  sender: toAddressKey('0x1111111111111111111111111111111111111111'),
  nonce: (0x2222n << 64n) | 3n,
  initCode: '0x4444444444444444444444444444444444444444deadbeef',
  callData: '0x5555555566',
  callGasLimit: 70_001n,
  verificationGasLimit: 80_002n,
  preVerificationGas: 90_003n,
  maxFeePerGas: 10_000_000_004n,
  maxPriorityFeePerGas: 1_000_000_005n,
  signature: '0x',
};

export function probeTerms(chainId: number, profile: ProfileConfig): SponsorshipTerms {
  return {
    chainId,
    paymaster: profile.sponsorship,
    fundingAddress: toAddressKey('0x6666666666666666666666666666666666666666'),
    validUntil: 0x7777_7777,
    validAfter: 0x1234_5678,
    options: profile.options,
  };
}

export function probeTokenTerms(chainId: number, profile: ProfileConfig, paymaster: Address): TokenTerms {
  const { treasury } = profile.options;
  return {
    chainId,
    paymaster,
    token: toAddressKey('0x8888888888888888888888888888888888888888'),
    exchangeRate: 3_000_000_006n,
    priceMarkup: 1_100_007,
    validUntil: 0x7777_7777,
    validAfter: 0x1234_5678,
    options: treasury === undefined ? {} : { treasury },
  };
}
