import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getBytes } from 'ethers';
import { CallReverted } from '../../core/chain/chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { Layout, TokenCodec, TokenTerms } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { Signer } from '../../core/paymaster/signer.js';
import { parseAddress } from '../../core/units/address.js';
import { probeTokenPayment } from '../../operator/facts/probe-operation.js';
import { signsBy } from '../build/signing.js';
import { buildAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { sendAs } from './support/send-as.js';
import {
  approval,
  mint,
  payInTokens,
  tokenCodecOf,
  tokenContract,
  tokenProfiles,
  tokenTerms,
  transfer,
} from './support/tokens.js';
import { buildUserOp, type SignedUserOp } from './support/user-op.js';

const plenty = 10n ** 12n;
const elsewhere = parseAddress(`0x${'e1'.repeat(20)}`);

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(tokenProfiles)('a payment that profile %s demands in advance', (version) => {
  test('is taken in validation of an account that allows it', async () => {
    const { account, signed } = await promised(version);
    const before = await balanceOf(devChain, devChain.deployments.feeToken.address, account.address);
    const { event } = await handleOp(devChain, devChain.profile(version).entryPointVersion, signed);
    const after = await balanceOf(devChain, devChain.deployments.feeToken.address, account.address);
    expect(event.success).toBe(true);
    expect(before - after).toBeGreaterThan(0n);
  });

  test('costs nobody anything when the account allows it no longer', async () => {
    const profile = devChain.profile(version);
    const { account, signed } = await promised(version);
    await sendAs(devChain, account.address, approval(devChain.deployments.feeToken.address, profile, 0n));
    expect(await refusalOf(profile.entryPointVersion, signed)).toContain('AA33');
  });

  test('costs nobody anything when the account has moved its tokens away', async () => {
    const { address: token } = devChain.deployments.feeToken;
    const { account, signed } = await promised(version);
    await sendAs(
      devChain,
      account.address,
      transfer(token, elsewhere, await balanceOf(devChain, token, account.address)),
    );
    expect(await refusalOf(devChain.profile(version).entryPointVersion, signed)).toContain('AA33');
  });

  /** Data signed for an operation of an account that holds and allows enough. */
  async function promised(of: string) {
    const profile = devChain.profile(of);
    const token = devChain.deployments.feeToken.address;
    const account = await buildAccount(devChain, profile.entryPointVersion);
    await mint(devChain, token, account.address, plenty);
    const first = await buildUserOp(account, [approval(token, profile, plenty)]);
    const approved = await payInTokens(
      devChain,
      profile,
      account,
      first,
      await tokenTerms(devChain, profile),
    );
    await handleOp(devChain, profile.entryPointVersion, approved);
    // The treasury refunds the excess where the contract itself holds no tokens.
    await sendAs(devChain, devChain.deployments.treasury, approval(token, profile, plenty));
    const op = await buildUserOp(account, []);
    const terms: TokenTerms = { ...(await tokenTerms(devChain, profile)), inAdvance: true };
    return { account, signed: await payInTokens(devChain, profile, account, op, terms) };
  }
});

describe.each(tokenProfiles)('the probe of profile %s', (version) => {
  test('sees that its contract takes tokens in validation when the data demand it', async () => {
    expect(await probe(version, layouts[devChain.profile(version).layout])).toBe('Secured');
  });

  test('is not deceived by one that takes them after the call', async () => {
    const layout = layouts[devChain.profile(version).layout];
    const codec = tokenCodecOf(devChain.profile(version));
    const afterCall = ({ inAdvance: _demanded, ...terms }: TokenTerms): TokenTerms => terms;
    const token: TokenCodec = {
      ...codec,
      hash: (op, terms) => codec.hash(op, afterCall(terms)),
      encode: (op, terms, signature) => codec.encode(op, afterCall(terms), signature),
    };
    expect(await probe(version, { ...layout, token })).toBe('AfterCall');
  });
});

function probe(version: string, layout: Layout) {
  const { entryPoint, sponsorship, options } = devChain.profile(version);
  const profile: ProfileConfig = {
    version,
    layout: layout.id,
    entryPoint,
    sponsorship,
    token: tokenContract(devChain.profile(version)),
    signerFile: 'dev.key',
    options: { priceMarkup: 1_000_000, unaccountedGas: 50_000, ...options },
  };
  return probeTokenPayment({
    chain: devChain.chain,
    chainId: devChain.chainId,
    profile,
    contract: tokenContract(devChain.profile(version)),
    layout,
    signer: signer(),
  });
}

function signer(): Signer {
  return {
    address: parseAddress(devChain.sponsorSigner.address),
    implementation: 'ethers',
    sign: signsBy((digest) => getBytes(devChain.sponsorSigner.signingKey.sign(digest).serialized)),
  };
}

/** The EntryPoint's words about an operation that it does not mine. */
async function refusalOf(version: EntryPointVersion, signed: SignedUserOp): Promise<string> {
  try {
    await handleOp(devChain, version, signed);
  } catch (error) {
    if (error instanceof CallReverted) return Buffer.from(error.data.slice(2), 'hex').toString('latin1');
    throw error;
  }
  return 'mined';
}
