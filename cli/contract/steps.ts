import { invalidInput } from '../../core/errors.js';
import { encodeContractCall, describeCall, type ContractCall } from '../../core/paymaster/contract.js';
import type { Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { formatDecimal } from '../../core/units/wei.js';
import { deterministicDeployer, zeroSalt } from '../../standalone/dev-chain/transactor.js';
import { Refused } from '../terminal.js';
import { wantedEntryPoint, initCode, isDeterministic, type Facts, type Wanted } from './facts.js';

export type Verb = 'deploy' | 'authorise' | 'remove-signer' | 'deposit' | 'stake' | 'unstake' | 'withdraw';

/** One transaction that brings the contract nearer to the wanted state. */
export type Step = {
  readonly verb: Verb;
  /** Who has to send it. */
  readonly by: 'anybody' | 'owner' | 'sponsor';
  /** Makes a contract by a plain transaction. */
  readonly creates?: true;
  /** Undefined where it creates, and where nobody knows yet where the contract will be: such a step can only be shown. */
  readonly to: Address | undefined;
  readonly value: bigint;
  readonly data: Hex;
  /** Name and arguments for people. */
  readonly says: string;
  /** The call, where the data are that of one. */
  readonly call?: ContractCall;
};

/** Amounts that are reached, not added: the same command twice is the same state. */
export type Levels = {
  readonly deposit?: bigint;
  readonly stake?: bigint;
  readonly unstakeDelaySeconds: number;
};

/** Every step that is missing, in the order in which they go. A missing contract is assumed to be made where it would be. */
export function missingSteps(wanted: Wanted, levels: Levels, facts: Facts): readonly Step[] {
  // A contract that somebody else has to write first cannot be judged.
  if (facts.contract === undefined && wanted.layout.contract.artifact === undefined) return [];
  return [
    ...deploySteps(wanted, facts),
    ...authoriseSteps(wanted, facts),
    ...depositSteps(wanted, levels, facts),
    ...stakeSteps(wanted, levels, facts),
  ];
}

export function deploySteps(wanted: Wanted, facts: Facts): readonly Step[] {
  const { artifact } = wanted.layout.contract;
  const code = initCode(wanted);
  if (artifact === undefined || code === undefined) return [];
  if (facts.contract !== undefined) return ownershipSteps(wanted, facts);
  const creation = artifact.creation({ ...wanted, entryPoint: wantedEntryPoint(wanted) });
  const isProxied = isDeterministic(wanted, facts);
  return [
    {
      verb: 'deploy',
      by: 'anybody',
      ...(isProxied ? { to: deterministicDeployer } : { creates: true, to: undefined }),
      value: 0n,
      data: isProxied ? `0x${zeroSalt.slice(2)}${code.slice(2)}` : code,
      says: describeCall(creation, artifact.file.replace('third-party/', '')),
    },
    ...ownershipSteps(wanted, facts),
  ];
}

/** A contract that belongs to its maker is given to the owner. */
function ownershipSteps({ layout, owner, from }: Wanted, { address, contract }: Facts): readonly Step[] {
  if (layout.contract.artifact?.owner !== 'sender') return [];
  const isGiven = contract === undefined ? owner === from : contract.isOwned === true;
  if (isGiven || contract?.isOwnedBySender === false) return [];
  const call = { fragment: 'function transferOwnership(address newOwner)', values: [owner] };
  return [createStep('deploy', 'owner', address, call)];
}

export function authoriseSteps({ layout, signer }: Wanted, { address, contract }: Facts): readonly Step[] {
  // The constructor names the first signer.
  if (contract === undefined || contract.isSignerAccepted) return [];
  const { authorise } = layout.contract;
  return authorise === undefined ? [] : [createStep('authorise', 'owner', address, authorise(signer))];
}

export function removeSignerSteps({ layout, signer }: Wanted, { address, contract }: Facts): readonly Step[] {
  const { removeSigner } = layout.contract;
  if (contract?.isSignerAccepted !== true || removeSigner === undefined) return [];
  return [createStep('remove-signer', 'owner', address, removeSigner(signer))];
}

export function depositSteps(
  wanted: Wanted,
  { deposit: level = 0n }: Pick<Levels, 'deposit'>,
  { address, contract }: Facts,
): readonly Step[] {
  const keepsBalances = wanted.layout.sponsorship.fundingBalanceCall !== undefined;
  const held = keepsBalances ? contract?.balance : contract?.deposit;
  if (level <= (held ?? 0n)) return [];
  const value = level - (held ?? 0n);
  if (!keepsBalances)
    return [
      {
        ...createStep('deposit', 'anybody', wantedEntryPoint(wanted), {
          fragment: 'function depositTo(address account)',
          values: [address ?? 'the contract'],
        }),
        value,
      },
    ];
  // What `depositTo` of the EntryPoint pays into such a contract belongs to nobody.
  if (wanted.sponsor === undefined)
    throw invalidInput({
      field: '--sponsor',
      expected: `whose balance it is: contracts of ${wanted.layout.id} keep one per sponsor`,
    });
  const call = { fragment: 'function depositFor(address paymasterId)', values: [wanted.sponsor] };
  return [{ ...createStep('deposit', 'anybody', address, call), value }];
}

export function stakeSteps(
  { layout }: Wanted,
  { stake: level, unstakeDelaySeconds }: Levels,
  { address, contract }: Facts,
): readonly Step[] {
  if (level === undefined || layout.contract.stake === undefined) return [];
  const held = contract?.stake ?? 0n;
  const delay = Math.max(unstakeDelaySeconds, contract?.unstakeDelaySeconds ?? 0);
  const isEnough = held >= level && contract?.unstakeDelaySeconds === delay;
  // An unlocked stake does not count; staking again locks it.
  if (isEnough && contract.isStaked) return [];
  const call = { fragment: 'function addStake(uint32 unstakeDelaySec)', values: [delay] };
  return [{ ...createStep('stake', 'owner', address, call), value: level > held ? level - held : 0n }];
}

/** First the stake is unlocked, and after its delay it is taken out. */
export function unstakeSteps(
  { layout }: Wanted,
  to: Address,
  { address, contract, time }: Facts,
): readonly Step[] {
  if (layout.contract.stake === undefined || contract === undefined || contract.stake === 0n) return [];
  if (contract.isStaked)
    return [createStep('unstake', 'owner', address, { fragment: 'function unlockStake()', values: [] })];
  if (contract.withdrawTime > time)
    throw new Refused(
      `the stake of ${formatDecimal(contract.stake, 18)} is unlocked and can be taken out from ${new Date(contract.withdrawTime * 1_000).toISOString()}`,
    );
  return [
    createStep('unstake', 'owner', address, {
      fragment: 'function withdrawStake(address withdrawAddress)',
      values: [to],
    }),
  ];
}

/** One of the ways in which contracts of the layout pay out, down to what shall stay. */
export function withdrawSteps(
  { layout, sponsor, owner }: Wanted,
  to: Address,
  stays: bigint,
  { address, contract }: Facts,
): readonly Step[] {
  const keepsBalances = layout.sponsorship.fundingBalanceCall !== undefined;
  const held = (keepsBalances ? contract?.balance : contract?.deposit) ?? 0n;
  if (held <= stays) return [];
  return layout.contract
    .withdrawals(to, held - stays, sponsor ?? owner)
    .map((call) => createStep('withdraw', keepsBalances ? 'sponsor' : 'owner', address, call));
}

function createStep(verb: Verb, by: Step['by'], to: Address | undefined, call: ContractCall): Step {
  const isKnown = !call.values.includes('the contract');
  return {
    verb,
    by,
    to,
    value: 0n,
    data: isKnown ? encodeContractCall(call) : '0x',
    says: describeCall(call),
    call,
  };
}
