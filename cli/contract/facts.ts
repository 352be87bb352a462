import { getCreateAddress } from 'ethers/address';
import type { Chain } from '../../core/chain/chain.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { DomainError } from '../../core/errors.js';
import { getBalanceCall } from '../../core/paymaster/abi.js';
import { encodeInitCode } from '../../core/paymaster/contract.js';
import type { Layout } from '../../core/paymaster/layout.js';
import { type Address, parseAddress, toAddressKey, zeroAddress } from '../../core/units/address.js';
import { bytesToHex, type Hex, hexQuantity } from '../../core/units/hex.js';
import { addressWord, askCall, wordPattern } from '../../operator/facts/acceptance.js';
import { probeOperation, probeTerms } from '../../operator/facts/probe-operation.js';
import { readInitCode } from '../../standalone/dev-chain/artifacts.js';
import { create2Address, deterministicDeployer } from '../../standalone/dev-chain/transactor.js';

/** What somebody wants a contract to be. */
export type Wanted = {
  readonly chainId: number;
  readonly layout: Layout;
  readonly owner: Address;
  readonly signer: Address;
  /** Where it is; absent: where its constructor's arguments put it. */
  readonly address?: Address;
  /** In contracts with a balance per sponsor: whose balance is meant. */
  readonly sponsor?: Address;
  readonly tokenAccount: Address;
  /** The least tip of the Chain, in wei. */
  readonly minTip: bigint;
  /** Who sends. A contract that was made by a plain transaction is looked for among those that it made last. */
  readonly from: Address;
};

/** What is there, all from one block. */
export type Facts = {
  readonly block: number;
  /** Unix seconds of that block. */
  readonly time: number;
  readonly baseFeePerGas: bigint;
  /** In wei: what the node suggests, and never less than the Chain asks for. */
  readonly tip: bigint;
  readonly hasEntryPoint: boolean;
  /** The deterministic deployer, through which a contract gets the same address on every chain. */
  readonly hasDeployer: boolean;
  /** Transactions of the sender that are mined. A transaction that is sent by this view of the chain has this nonce. */
  readonly nonce: number;
  readonly funds: bigint;
  /** Undefined: nobody knows yet where it will be. */
  readonly address: Address | undefined;
  readonly contract: ContractFacts | undefined;
};

type ContractFacts = Readonly<Awaited<ReturnType<typeof readContract>>>;

/** Of how many of the sender's last transactions the contracts are looked at. */
const transactionsLookedAt = 64;

/** Throws UNAVAILABLE when the node does not answer, and INVALID_INPUT when it is of another chain. */
export async function readFacts(chain: Chain, wanted: Wanted): Promise<Facts> {
  const chainId = await chain.chainId();
  if (chainId !== wanted.chainId)
    throw new DomainError('CHAIN_MISMATCH', `the node is of chain ${chainId}, not of ${wanted.chainId}`);
  const head = await chain.block('latest');
  if (head === undefined) throw new DomainError('UNAVAILABLE', 'the node has no block yet');
  const block = head.number;
  const [entryPointCode, deployerCode, nonce, funds, suggested] = await Promise.all([
    chain.code(wantedEntryPoint(wanted), block),
    chain.code(deterministicDeployer, block),
    chain.request('eth_getTransactionCount', [wanted.from, hexQuantity(block)]),
    chain.balance(wanted.from, block),
    chain.priorityFee(),
  ]);
  const known = {
    block,
    time: head.timestamp,
    baseFeePerGas: head.baseFeePerGas,
    tip: suggested > wanted.minTip ? suggested : wanted.minTip,
    hasEntryPoint: entryPointCode !== '0x',
    hasDeployer: deployerCode !== '0x',
    nonce: Number(nonce),
    funds,
  };
  const address = wanted.address ?? (await findAddress(chain, wanted, known));
  const hasCode = address !== undefined && (await chain.code(address, block)) !== '0x';
  return {
    ...known,
    address,
    contract: hasCode ? await readContract(chain, wanted, address, block) : undefined,
  };
}

export function wantedEntryPoint({ layout }: Pick<Wanted, 'layout'>): Address {
  return entryPoints[layout.entryPointVersion];
}

/** Init code with its arguments; undefined where we ship none. */
export function initCode(wanted: Wanted): Hex | undefined {
  const { artifact } = wanted.layout.contract;
  if (artifact === undefined) return undefined;
  return encodeInitCode(
    readInitCode(artifact.file),
    artifact.creation({ ...wanted, entryPoint: wantedEntryPoint(wanted) }),
  );
}

/** Whether its address follows from its arguments alone. */
export function isDeterministic({ layout }: Wanted, { hasDeployer }: Pick<Facts, 'hasDeployer'>): boolean {
  return hasDeployer && layout.contract.artifact?.owner === 'argument';
}

async function findAddress(
  chain: Chain,
  wanted: Wanted,
  known: Pick<Facts, 'block' | 'nonce' | 'hasDeployer'>,
): Promise<Address | undefined> {
  const code = initCode(wanted);
  if (code === undefined) return undefined;
  if (isDeterministic(wanted, known)) return create2Address(code);
  return findCreated(chain, wanted, code, known);
}

/**
 * The contract that the sender's own transaction made from this init code: it runs the code that the init code answers, and has the
 * owner, whom its code need not name.
 */
async function findCreated(
  chain: Chain,
  wanted: Wanted,
  code: Hex,
  { block, nonce }: Pick<Facts, 'block' | 'nonce'>,
): Promise<Address | undefined> {
  const { from, owner, layout } = wanted;
  const runtime = await readRuntime(chain, from, code, block);
  const owners = layout.contract.artifact?.owner === 'sender' ? [owner, from] : [owner];
  for (let made = nonce - 1; made >= Math.max(0, nonce - transactionsLookedAt); made -= 1) {
    const address = parseAddress(getCreateAddress({ from, nonce: made }));
    if ((await chain.code(address, block)) !== runtime) continue;
    for (const account of owners)
      if ((await owns(chain, wanted, address, account, block)) === true) return address;
  }
  return undefined;
}

/** The code of the contract that init code makes. */
function readRuntime(chain: Chain, from: Address, code: Hex, block: number): Promise<unknown> {
  return chain.request('eth_call', [{ from, data: code }, hexQuantity(block)]);
}

/** Undefined where contracts of the layout have no view that says so. */
async function owns(
  chain: Chain,
  { layout: { contract } }: Wanted,
  to: Address,
  account: Address,
  block: number,
): Promise<boolean | undefined> {
  if (contract.ownerCall === undefined) return undefined;
  const { data, isOwner } = contract.ownerCall(account);
  const answer = await ask(chain, to, data, block);
  return wordPattern.test(answer) && isOwner(answer);
}

/** `0x` where the contract reverts. */
async function ask(chain: Chain, to: Address, data: Hex, block: number): Promise<Hex> {
  const answer = await askCall(chain, { to, data, block });
  if (answer === undefined) throw new DomainError('UNAVAILABLE', `the node does not answer for ${to}`);
  return answer;
}

async function readContract(chain: Chain, wanted: Wanted, to: Address, block: number) {
  const { layout, owner, signer, from, sponsor } = wanted;
  const asked = (target: Address, data: Hex) => ask(chain, target, data, block);
  const isOwnedBy = (account: Address) => owns(chain, wanted, to, account, block);
  const { data, isAuthorised } = layout.sponsorship.signerCall(signer);
  const [entryPoint, balanceOf, info, isOwned, isOwnedBySender, isOwnedBySigner, ownerCode, accepted] =
    await Promise.all([
      asked(to, entryPointSelector),
      asked(to, getBalanceCall(toAddressKey(sponsor ?? zeroAddress))),
      asked(wantedEntryPoint(wanted), `${getDepositInfo}${addressWord(to)}`),
      isOwnedBy(owner),
      isOwnedBy(from),
      isOwnedBy(signer),
      chain.code(owner, block),
      asked(to, data),
    ]);
  const keepsBalances = wordPattern.test(balanceOf);
  const held = splitWords(info);
  const shipped = initCode(wanted);
  return {
    /** Whether it belongs to the EntryPoint, hashes as the layout does, and keeps balances as the layout does. */
    isOfLayout:
      entryPoint === `0x${addressWord(wantedEntryPoint(wanted))}` &&
      keepsBalances === (layout.sponsorship.fundingBalanceCall !== undefined) &&
      (await hashesAlike(wanted, to, asked)),
    /** Whether it runs the code that we ship for these arguments; undefined where we ship none. Any contract may answer like another. */
    isShipped: shipped && (await chain.code(to, block)) === (await readRuntime(chain, from, shipped, block)),
    /** Undefined where contracts of the layout have no view that says so. */
    isOwned,
    isOwnedBySender,
    isOwnedBySigner,
    ownerHasCode: ownerCode !== '0x',
    isSignerAccepted: wordPattern.test(accepted) && isAuthorised(accepted),
    /** What the EntryPoint holds for it. */
    deposit: held[0] ?? 0n,
    isStaked: held[1] === 1n,
    stake: held[2] ?? 0n,
    unstakeDelaySeconds: Number(held[3] ?? 0n),
    /** Unix seconds from which an unlocked stake may be taken out; 0: not unlocked. */
    withdrawTime: Number(held[4] ?? 0n),
    /** The sponsor's balance in the contract; undefined in layouts without, and without a sponsor. */
    balance: keepsBalances && sponsor !== undefined ? BigInt(balanceOf) : undefined,
  };
}

/** `entryPoint()`, and `getDepositInfo(address)` of the EntryPoint. */
const entryPointSelector: Hex = '0xb0d691fe';
const getDepositInfo: Hex = '0x5287ce12';

/** Money for a contract of another layout may be lost, so it is compared before any is sent. OpenZeppelin's contracts show no hash. */
async function hashesAlike(
  { layout, chainId }: Wanted,
  sponsorship: Address,
  ask: (to: Address, data: Hex) => Promise<Hex>,
): Promise<boolean> {
  const { getHashCall, hash } = layout.sponsorship;
  if (getHashCall === undefined) return true;
  const terms = probeTerms(chainId, { sponsorship, options: { priceMarkup: 1_000_000, unaccountedGas: 0 } });
  return (
    (await ask(sponsorship, getHashCall(probeOperation, terms))) === bytesToHex(hash(probeOperation, terms))
  );
}

function splitWords(answer: Hex): readonly bigint[] {
  return (answer.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`));
}

/** What is wrong with the contract, or where it should be, and cannot be put right by another step. Money is not sent there. */
export function listFindings({ layout, owner, signer }: Wanted, facts: Facts): readonly string[] {
  if (!facts.hasEntryPoint) return [`this chain has no EntryPoint ${layout.entryPointVersion}`];
  const { contract, address } = facts;
  if (contract === undefined) return [];
  // Nothing else that it answers means what it seems to.
  if (!contract.isOfLayout)
    return [`${address} is not a contract of ${layout.id}: its EntryPoint, hash or balances are others`];
  const found: string[] = [];
  const isUngiven = layout.contract.artifact?.owner === 'sender' && contract.isOwnedBySender === true;
  if (contract.isOwned === false)
    found.push(
      isUngiven
        ? `${address} still belongs to its sender: "paymaster contract deploy" gives it to ${owner}`
        : `${address} does not belong to ${owner}`,
    );
  if (contract.isOwnedBySigner === true)
    found.push(`the signer administers the contract: a thief of the hot key ${signer} gets everything`);
  if (!contract.isSignerAccepted && layout.contract.authorise === undefined)
    found.push(
      `${address} does not accept ${signer}, and no call of its layout changes that: deploy another one`,
    );
  return found;
}
