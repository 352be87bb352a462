import { AbiCoder } from 'ethers/abi';
import { isHexBytes } from '../../core/units/hex.js';
import { readOwnArtifact } from './artifacts.js';
import { create2Address } from './transactor.js';

type DevFeed = Readonly<ReturnType<typeof devFeed>>;

/** Decimals of dollar feeds everywhere. */
const feedDecimals = 8;

/** Price of one ether on a fresh dev chain, in dollars. */
export const devDollarsPerEther = 3_000n;

/** The feeds of a dev chain: dollars per ether, and dollars per fee token. Anybody may set them. */
export function devFeeds(tokenSymbol: string): { readonly native: DevFeed; readonly token: DevFeed } {
  return {
    native: devFeed('ETH / USD', devDollarsPerEther),
    token: devFeed(`${tokenSymbol} / USD`, 1n),
  };
}

/** A `DevFeed` that answers this number of whole dollars until somebody sets it. */
function devFeed(description: string, dollars: bigint) {
  const values = [description, feedDecimals, dollars * 10n ** BigInt(feedDecimals)];
  const args = AbiCoder.defaultAbiCoder().encode(['string', 'uint8', 'int256'], values);
  const initCode = `${readOwnArtifact('DevFeed').bytecode}${args.slice(2)}`;
  if (!isHexBytes(initCode)) throw new TypeError('the init code of DevFeed is not hex');
  return { name: `DevFeed "${description}"`, address: create2Address(initCode), initCode };
}
