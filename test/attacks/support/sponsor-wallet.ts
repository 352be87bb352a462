import { Wallet } from 'ethers';
import { fundingMessage } from '../../../core/config/funding.js';
import type { PaymasterSpec } from '../../../core/resources/paymaster.js';
import { parseEther } from '../../../core/units/wei.js';
import type { EpochMs } from '../../../core/units/time.js';
import { encodeWith } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { hybridAbi } from '../../chain/support/hybrid.js';

/** A wallet whose owner sponsors from the wallet's balance inside the contract. */
export const sponsor = new Wallet(`0x${'11'.repeat(32)}`);

/** Deposits 100 coins for the sponsor inside the contract of a version. */
export async function fundSponsor(devChain: DevChain, version: string): Promise<void> {
  await devChain.transactor.send('deposit of the sponsor', {
    to: devChain.profile(version).sponsorship,
    data: encodeWith(hybridAbi, 'depositFor', [sponsor.address]),
    value: parseEther('100'),
  });
}

/** The proof that the sponsor has signed for a Paymaster of a tenant; it is public in the Paymaster's spec. */
export function proofOfSponsor(
  devChain: DevChain,
  version: string,
  { tenant, paymaster }: { readonly tenant: string; readonly paymaster: string },
): NonNullable<PaymasterSpec['funding']> {
  const message = fundingMessage({
    chainId: devChain.chainId,
    contract: devChain.profile(version).sponsorship,
    namespace: tenant,
    paymaster,
    nonce: 'nonce-12345678',
    time: 1_770_000_000_000 as EpochMs,
  });
  return { address: sponsor.address, message, signature: sponsor.signMessageSync(message) };
}
