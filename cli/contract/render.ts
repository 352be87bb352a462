import { keccak256 } from 'ethers/crypto';
import { renderYaml } from '../../adapters/manifests/yaml.js';
import type { Layout } from '../../core/paymaster/layout.js';
import { hexSize } from '../../core/units/hex.js';
import { formatDecimal } from '../../core/units/wei.js';
import type { Result } from '../terminal.js';
import type { Priced } from './cost.js';
import type { Facts, Wanted } from './facts.js';
import { profileAt } from './manifests.js';
import type { Sent } from './send.js';
import type { Step } from './steps.js';

type Plan = {
  readonly wanted: Wanted;
  readonly facts: Facts;
  readonly findings: readonly string[];
  readonly steps: readonly Step[];
  /** One for each step. */
  readonly costs: readonly Priced[];
};

const coin = (value: bigint) => formatDecimal(value, 18);

export function renderPlan({ wanted, facts, findings, steps, costs }: Plan): Result {
  const rows = steps.map((step, at) => ({ step, priced: costs[at] ?? { says: 'not priced' } }));
  const advice = facts.contract === undefined ? sourceLines(wanted.layout) : [];
  const isWhole = steps.length === 0 && findings.length === 0 && facts.contract !== undefined;
  const text = joinLines(
    headline(wanted, facts),
    ...findings.map((finding) => `wrong      ${finding}`),
    ...advice,
    ...rows.map(({ step, priced }) => renderStep(step, priced)),
    steps.length > 1 && `in all     ${coin(total(rows))} at most, a roll-up's fee for data not included`,
    isWhole && 'nothing is missing',
  );
  const data = {
    ...identity(wanted, facts),
    findings,
    advice,
    steps: rows.map(({ step, priced }) => ({ ...dataOfStep(step), ...dataOfPrice(priced) })),
  };
  return { text, data };
}

export function renderStatus({ wanted, facts, findings, steps }: Omit<Plan, 'costs'>): Result {
  const { contract } = facts;
  const isMissing = contract === undefined;
  const missing = [...new Set([...(isMissing ? ['deploy'] : []), ...steps.map(({ verb }) => verb)])];
  const text = joinLines(
    headline(wanted, facts),
    ...(isMissing ? sourceLines(wanted.layout) : linesOfContract(wanted, contract)),
    ...findings.map((finding) => `wrong      ${finding}`),
    ...missing.map((verb) => `missing    paymaster contract ${verb}`),
    !isMissing && `\n${renderYaml(renderProfile(wanted, facts)).trimEnd()}`,
  );
  const figures = contract && {
    ...contract,
    deposit: String(contract.deposit),
    stake: String(contract.stake),
    balance: contract.balance === undefined ? undefined : String(contract.balance),
  };
  return {
    text,
    data: {
      ...identity(wanted, facts),
      contract: figures ?? null,
      findings,
      missing,
      ...renderProfile(wanted, facts),
    },
  };
}

function linesOfContract(
  { layout, owner, signer, sponsor }: Wanted,
  contract: NonNullable<Facts['contract']>,
): readonly (string | false)[] {
  const { isShipped, isOwned, ownerHasCode, isSignerAccepted, deposit, balance } = contract;
  const { stake, unstakeDelaySeconds, isStaked } = contract;
  return [
    isShipped !== undefined && `code       ${describeCode(layout, isShipped)}`,
    `owner      ${owner} ${said(isOwned)}${ownerHasCode ? ' (a contract)' : ''}`,
    `signer     ${signer} ${isSignerAccepted ? 'accepted' : 'not accepted'}`,
    `deposit    ${coin(deposit)} in the EntryPoint`,
    balance !== undefined && `balance    ${coin(balance)} of ${sponsor}`,
    `stake      ${coin(stake)} for ${unstakeDelaySeconds} s${isStaked ? '' : ', not locked'}`,
  ];
}

export function renderSent(facts: Facts, sent: readonly Sent[]): Result {
  const text = [
    `contract   ${facts.address ?? 'not there'}`,
    ...sent.map(({ says, hash }) => `mined      ${hash}\n           ${says}`),
  ].join('\n');
  return {
    text,
    data: { address: facts.address ?? null, sent: sent.map(({ hash, says }) => ({ hash, call: says })) },
  };
}

/** Without those that are false. */
function joinLines(...all: readonly (string | false)[]): string {
  return all.filter((line) => line !== false).join('\n');
}

function headline({ chainId, layout }: Wanted, { address, contract }: Facts): string {
  const where = address ?? 'where its maker will have put it';
  return `contract   ${where}, ${contract === undefined ? 'not there' : 'there'} (${layout.id}, chain ${chainId})`;
}

function sourceLines({ contract: { source, artifact } }: Layout): readonly string[] {
  const isOurs = artifact?.isAudited === false;
  return [
    ...(source === undefined ? [] : [`source     ${source}`]),
    ...(isOurs
      ? [`unaudited  ${artifact.file} is of this project, and nobody has audited it: deploy --unaudited`]
      : []),
  ];
}

const describeCode = ({ contract: { artifact } }: Layout, isShipped: boolean) =>
  isShipped
    ? `that of ${artifact?.file}`
    : `not that of ${artifact?.file} with these arguments: do you know whose it is?`;

const said = (is: boolean | undefined) => (is === undefined ? '(no view says so)' : is ? 'yes' : 'no');

function renderStep(step: Step, priced: Priced): string {
  const to = step.to ?? (step.creates === true ? 'a new contract' : 'the contract');
  const size = hexSize(step.data);
  const data = size > 200 ? `${size} bytes, keccak256 ${keccak256(step.data)}` : step.data;
  const cost =
    'says' in priced
      ? `would fail now: ${priced.says}`
      : `${coin(priced.cost.gas * priced.cost.maxFeePerGas)} at most (${priced.cost.isTried ? '' : 'about '}${priced.cost.gas} gas)`;
  return `${step.verb.padEnd(10)} ${step.says}
           to ${to}, value ${coin(step.value)}, by ${step.by}
           data ${data}
           costs ${cost}`;
}

function dataOfStep({ verb, by, to, value, data, says }: Step) {
  return { verb, by, to: to ?? null, value: String(value), data, call: says };
}

function dataOfPrice(priced: Priced) {
  if ('says' in priced) return { fails: priced.says };
  const { gas, isTried, maxFeePerGas } = priced.cost;
  return { gas: String(gas), isTried, maxFeePerGas: String(maxFeePerGas) };
}

const total = (rows: readonly { readonly step: Step; readonly priced: Priced }[]) =>
  rows.reduce(
    (sum, { step, priced }) =>
      sum + step.value + ('cost' in priced ? priced.cost.gas * priced.cost.maxFeePerGas : 0n),
    0n,
  );

function identity({ chainId, layout, owner, signer }: Wanted, { address, contract }: Facts) {
  return {
    chainId,
    layout: layout.id,
    address: address ?? null,
    isThere: contract !== undefined,
    owner,
    signer,
  };
}

/** The contract, as a Chain describes it. */
function renderProfile(wanted: Wanted, { address }: Facts) {
  return address === undefined ? {} : { profiles: [profileAt(wanted, address, 'signer')] };
}
