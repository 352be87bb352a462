import type { ProfileConfig } from '../../core/config/chain-config.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress } from '../../core/units/address.js';
import { listedFiles } from './key-watch.js';
import { defaultWallet, lossBudgetEther, openZeppelin, treasury, worlds, type World } from './world.js';

/** The platform's profile of each contract, computed once: an address takes a hash. */
export const profilesOf = new Map(worlds.map((world) => [world, profileOf(world)]));

function profileOf({ layout, contract, version }: World): ProfileConfig {
  const address = parseAddress(contract);
  const hasTokens = layouts[layout].token !== undefined;
  return {
    version: layout,
    layout,
    entryPoint: entryPoints[version],
    sponsorship: address,
    ...(hasTokens ? { token: address } : {}),
    signerFile: listedFiles[0],
    signerFiles: listedFiles,
    defaultFunding: { address: parseAddress(defaultWallet), organisations: ['*'] },
    options: {
      priceMarkup: 1_000_000,
      unaccountedGas: layout === 'vendor-2.x' ? 10_000 : 0,
      treasury: parseAddress(treasury),
      ...(layout === 'openzeppelin-0.9' ? { openZeppelin } : {}),
    },
    tokenLossBudget: lossBudgetEther,
    tokenSecured: true,
    ...(layout === 'singleton-0.8' ? { tokenPayment: 'preFund' as const } : {}),
  };
}
