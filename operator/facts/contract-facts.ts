import type { BlockTag, Chain } from '../../core/chain/chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { unlessUnavailable } from '../../core/errors.js';
import { keccak256 } from '../../core/crypto/keccak.js';
import type { StakeSpec } from '../../core/resources/chain.js';
import type { Address } from '../../core/units/address.js';
import { bytesToHex, hexToBytes, type Hex } from '../../core/units/hex.js';
import { parseEther } from '../../core/units/wei.js';
import { addressWord, askCall, wordPattern, worstOf } from './acceptance.js';
import type { ProfileFacts } from './facts.js';

/** What the EntryPoint holds for the contracts of a profile, and which code they run, all from one block. */
type ContractFacts = Pick<ProfileFacts, 'deposit' | 'stake' | 'codeHash'>;

type ChainReads = Pick<Chain, 'call' | 'code' | 'request'>;

export async function readContractFacts(
  chain: ChainReads,
  { entryPoint, sponsorship, token }: Pick<ProfileConfig, 'entryPoint' | 'sponsorship' | 'token'>,
  block: BlockTag,
  asked?: StakeSpec,
): Promise<ContractFacts> {
  const contracts = [...new Set([sponsorship, token ?? sponsorship])];
  const [held, codes] = await Promise.all([
    Promise.all(contracts.map((contract) => readHoldings(chain, entryPoint, contract, block, asked))),
    unlessUnavailable(Promise.all(contracts.map((contract) => readCode(chain, contract, block)))),
  ]);
  return {
    deposit: worstOf<ProfileFacts['deposit']>(
      'Deposited',
      held.map(({ deposit }) => deposit),
    ),
    stake: worstOf<ProfileFacts['stake']>(
      'Staked',
      held.map(({ stake }) => stake),
    ),
    ...(codes === undefined
      ? {}
      : { codeHash: bytesToHex(keccak256(Buffer.concat(codes.flat().map(hexToBytes)))) }),
  };
}

/** `getDepositInfo(address)`: deposit, staked, stake, delay, and the time from which an unlocked stake may go; in every version. */
const getDepositInfo: Hex = '0x5287ce12';
/** ERC-7562, and the bundlers that say something. */
const usualDelaySeconds = 86_400;
const depositInfoPattern = /^0x[0-9a-f]{320}$/;

async function readHoldings(
  chain: ChainReads,
  entryPoint: Address,
  contract: Address,
  block: BlockTag,
  asked: StakeSpec | undefined,
): Promise<Pick<ProfileFacts, 'deposit' | 'stake'>> {
  const data: Hex = `${getDepositInfo}${addressWord(contract)}`;
  const answer = await askCall(chain, { to: entryPoint, data, block });
  if (answer === undefined || !depositInfoPattern.test(answer))
    return { deposit: 'Unknown', stake: 'Unknown' };
  const [deposit, isStaked, stake = 0n, delay = 0n] = [0, 1, 2, 3].map((at) =>
    BigInt(`0x${answer.slice(2 + 64 * at, 66 + 64 * at)}`),
  );
  const unstaked = stake === 0n ? 'Unstaked' : 'Unlocked';
  const isEnough =
    asked === undefined ||
    (stake >= parseEther(asked.amount) && delay >= BigInt(asked.unstakeDelaySeconds ?? usualDelaySeconds));
  const staked = isEnough ? 'Staked' : 'TooLow';
  return { deposit: deposit === 0n ? 'Empty' : 'Deposited', stake: isStaked === 1n ? staked : unstaked };
}

/** EIP-1967: where a proxy keeps the address of its code, and that of the beacon that knows it. */
const implementationSlot = '360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc';
const beaconSlot = 'a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50';
/** `implementation()`. */
const implementation: Hex = '0x5c60da1b';

/** The code at the address and, behind a proxy, the code that it runs. Only a proxy has the slots in its own code. Throws UNAVAILABLE. */
async function readCode(chain: ChainReads, contract: Address, block: BlockTag): Promise<readonly Hex[]> {
  const own = await chain.code(contract, block);
  const direct = own.includes(implementationSlot)
    ? await readSlot(chain, contract, implementationSlot, block)
    : '0x';
  const beacon = own.includes(beaconSlot) ? await readSlot(chain, contract, beaconSlot, block) : '0x';
  const behind =
    beacon === '0x'
      ? undefined
      : await askCall(chain, { to: addressIn(beacon), data: implementation, block });
  const places = [direct, behind ?? '0x'].filter((word) => wordPattern.test(word));
  return [own, ...(await Promise.all(places.map((word) => chain.code(addressIn(word), block))))];
}

async function readSlot(
  chain: ChainReads,
  contract: Address,
  slot: string,
  block: BlockTag,
): Promise<string> {
  const place = typeof block === 'object' ? { blockHash: block.hash } : block;
  return String(await chain.request('eth_getStorageAt', [contract, `0x${slot}`, place]));
}

function addressIn(word: string): Hex {
  return `0x${word.slice(-40)}`;
}
