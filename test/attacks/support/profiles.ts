import { loadSigners } from '../../../adapters/signer/signers.js';
import type { ProfileConfig } from '../../../core/config/chain-config.js';
import { silentLogger } from '../../../core/log.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { mayDemandAdvance } from '../../../operator/facts/facts.js';
import { probeTokenPayment } from '../../../operator/facts/probe-operation.js';
import type { DevChain } from '../../chain/support/dev-chain.js';

/** A profile of the dev chain as the operator compiles it, with the facts that it reads from the contract. */
export function servedProfile(
  devChain: DevChain,
  version: string,
  overrides: Partial<ProfileConfig> = {},
): Promise<ProfileConfig> {
  return withSecurity(devChain, { ...profileOf(devChain, version), ...overrides });
}

function profileOf(devChain: DevChain, version: string): ProfileConfig {
  const { layout, entryPoint, sponsorship, token, options } = devChain.profile(version);
  return {
    version,
    layout,
    entryPoint,
    sponsorship,
    ...(token === undefined ? {} : { token }),
    signerFile: 'dev',
    defaultFunding: { address: devChain.deployments.defaultFunding, organisations: ['*'] },
    options: { priceMarkup: 1_000_000, unaccountedGas: 50_000, ...options },
  };
}

async function withSecurity(devChain: DevChain, profile: ProfileConfig): Promise<ProfileConfig> {
  const { token: contract } = profile;
  if (contract === undefined) return profile;
  if (!mayDemandAdvance(profile)) return profile;
  const { chain, chainId, sponsorSigner } = devChain;
  const signers = await loadSigners({
    environment: { PAYMASTER_SIGNER_KEY_DEV: sponsorSigner.privateKey },
    log: silentLogger,
  });
  const signer = signers.get('dev');
  if (signer === undefined) throw new Error('the profile has no signer');
  const layout = layouts[profile.layout];
  const found = await probeTokenPayment({ chain, chainId, profile, contract, layout, signer });
  return found === 'Secured' ? { ...profile, tokenSecured: true } : profile;
}
