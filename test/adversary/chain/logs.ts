import { userOperationEventTopic } from '../../../core/entry-point/user-operation-event.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { ContractSpec, OperationResult } from './operations.js';

/** Topics and data of a log, before it has a block and an index. */
export type BareLog = { readonly address: AddressKey; readonly topics: readonly Hex[]; readonly data: Hex };

const paidInTokensTopic = '0x9b02391759649674b016374b782fbd862605050c75d26c3e4c0b385e75bc1c48';
const owedTopic = '0x3bd3f007842febf4951d0b738ebd065513a04d296a50e359250484deb1a7f23f';
const sponsoredTopic = '0x7a270f29ae17e8e2304ff1245deb50c3b6206bca82928d904f3e284d35c5ffd2';

/**
 * The logs of a bundle in their order. Contracts of the layouts singleton report a sponsorship in validation, so before the first
 * operation is executed.
 */
export function logsOf(
  results: readonly OperationResult[],
  specOf: (result: OperationResult) => ContractSpec,
  topicsOf: (spec: ContractSpec) => Topics,
): readonly BareLog[] {
  return [
    ...results.flatMap((result) => sponsorshipReportOf(result, specOf(result))),
    ...results.flatMap((result) => executionLogsOf(result, specOf(result), topicsOf(specOf(result)))),
  ];
}

type Topics = { readonly charged: Hex; readonly token: AddressKey };

function sponsorshipReportOf(
  { operation: { op, contract, terms }, userOpHash }: OperationResult,
  { reportsSponsorships }: ContractSpec,
): readonly BareLog[] {
  if (!reportsSponsorships || terms.mode === 'ERC20') return [];
  return [
    {
      address: contract,
      topics: [sponsoredTopic, userOpHash, topic(op.sender)],
      data: words([0n, 0n, 0n, 0n]),
    },
  ];
}

/** The contract's own, then the EntryPoint's. */
function executionLogsOf(
  {
    operation,
    userOpHash,
    success,
    cost,
    gasUsed,
    charge,
    premium,
    isChargeReported,
    tokens,
    owed,
  }: OperationResult,
  spec: ContractSpec,
  topics: Topics,
): readonly BareLog[] {
  const { op, contract, terms } = operation;
  const logs: BareLog[] = [];
  const reports = [topic(op.sender), topic(topics.token)];
  if (terms.mode === 'ERC20' && spec.kind === 'hybrid')
    logs.push({
      address: contract,
      topics: [paidInTokensTopic, ...reports],
      data: words([cost, tokens ?? 0n, terms.markup, terms.rate, BigInt(userOpHash)]),
    });
  if (owed > 0n)
    logs.push({
      address: contract,
      topics: [owedTopic, ...reports],
      data: words([owed, owed + (tokens ?? 0n), BigInt(userOpHash)]),
    });
  if (spec.kind === 'plain' && tokens !== 0n && terms.mode === 'ERC20')
    logs.push({
      address: contract,
      topics: [sponsoredTopic, userOpHash, topic(op.sender)],
      // The signed rate includes the markup.
      data: words([
        1n,
        BigInt(topics.token),
        tokens ?? 0n,
        (terms.rate * terms.markup + 999_999n) / 1_000_000n,
      ]),
    });
  if (isChargeReported && charge !== undefined) {
    const wallet =
      terms.mode === 'SPONSORED' ? (terms.fundingAddress ?? spec.tokenAccount) : spec.tokenAccount;
    logs.push({
      address: contract,
      topics: [
        topics.charged,
        topic(wallet),
        word(charge),
        ...(spec.version === '0.6' ? [] : [word(premium)]),
      ],
      data: '0x',
    });
  }
  logs.push({
    address: spec.entryPoint,
    topics: [userOperationEventTopic, userOpHash, topic(op.sender), topic(contract)],
    data: words([op.nonce, success ? 1n : 0n, cost, gasUsed]),
  });
  return logs;
}

export function topic(address: AddressKey): Hex {
  return `0x${'0'.repeat(24)}${address.slice(2)}`;
}

export function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

function words(values: readonly bigint[]): Hex {
  return `0x${values.map((value) => word(value).slice(2)).join('')}`;
}
