import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { short } from '../format.js';
import { useEntered } from '../parts/form-facts.js';
import { Field } from '../parts/form.js';
import { Note } from '../parts/parts.js';
import { type Radio, Radios } from '../parts/radios.js';
import { ruleKinds } from '../paymaster/kinds.js';
import { LimitFields } from '../paymaster/limit.js';
import { ContractFields } from '../paymaster/new-contract.js';
import type { Known, OfferedChain } from '../paymasters.js';
import { pageHref } from '../route.js';
import type { StepName } from './draft.js';

type Step = {
  readonly title: string;
  readonly says: string;
  /** Those of the step `chain` are {@link ChainFields}, which need the chains. */
  readonly fields?: ComponentType;
};

export const steps = {
  chain: {
    title: 'Name and chain',
    says: 'It will deny by default: it pays for nothing but what you list in the next steps.',
  },
  contract: {
    title: 'Contract',
    says: 'Which calls it pays for.',
    fields: () => (
      <Optional
        legend="Calls that it pays for"
        yes={{ title: 'Of a contract of mine', says: 'I have its address and its ABI.' }}
        no={{ title: 'None yet', says: 'I register a contract later. Until then it pays for nothing.' }}
        isFirst
        fields={ContractStep}
      />
    ),
  },
  limit: {
    title: 'Limit',
    says: 'How much it may pay for before it refuses.',
    fields: () => (
      <Optional
        legend="Limit"
        yes={{ title: 'Set a limit', says: 'By operations, coins or dollars, for each account or for all.' }}
        no={{ title: 'No limit', says: 'It pays for every call of these methods while there is money.' }}
        isFirst
        fields={LimitFields}
      />
    ),
  },
  webhook: {
    title: 'Webhook',
    says: 'Your own server may decide about each operation, too. You can try it once it is created.',
    fields: () => (
      <Optional
        legend="Ask a server"
        yes={{ title: 'Ask my server', says: 'It gets each operation, and answers whether to pay for it.' }}
        no={{ title: 'Ask nobody', says: 'The contract and the limit decide.' }}
        fields={WebhookFields}
      />
    ),
  },
} as const satisfies Readonly<Record<StepName, Step>>;

export function stepHref(step: string): string {
  return pageHref('paymaster', { create: step });
}

/** `like`: another one, whose chain and version most want again. */
type Props = { readonly all: readonly OfferedChain[]; readonly like: Known | undefined };

export function ChainFields(props: Props) {
  return (
    <>
      <Field label="Name" name="name" />
      <div class="wide">
        <Versions {...props} />
      </div>
    </>
  );
}

function Versions({ all, like }: Props) {
  const entered = useEntered('chainId');
  const [chainId, setChain] = useState(entered ?? String(like?.chainId ?? ''));
  const chain = all.find((each) => String(each.chainId) === chainId) ?? all[0]!;
  return (
    <div class="row">
      <Radios
        legend="Chain"
        name="chainId"
        value={String(chain.chainId)}
        of={all.map((each): Radio => ({
          value: String(each.chainId),
          title: each.name,
          says: `Chain ${each.chainId}; fees are paid in ${each.symbol}.${each.suspended ? ' Suspended: nothing is signed on it now.' : ''}`,
        }))}
        onChoose={setChain}
      />
      <Radios
        key={chain.chainId}
        legend="Version of the paymaster contract"
        name="version"
        value={like?.version}
        of={chain.versions.map(({ version, entryPoint, address }) => ({
          value: version,
          title: version,
          says: `For accounts of EntryPoint ${short(entryPoint)}, with the contract ${short(address)}.`,
        }))}
      />
    </div>
  );
}

type Answer = Pick<Radio, 'title' | 'says'>;

/** Fields that are there once somebody wants what they make. `isFirst`: most want it. */
function Optional({
  legend,
  yes,
  no,
  isFirst = false,
  fields: Fields,
}: {
  readonly legend: string;
  readonly yes: Answer;
  readonly no: Answer;
  readonly isFirst?: boolean;
  readonly fields: ComponentType;
}) {
  const [has, setHas] = useState(useEntered('has') ?? (isFirst ? 'yes' : 'no'));
  return (
    <>
      <Radios
        legend={legend}
        name="has"
        value={has}
        of={[
          { value: 'yes', ...yes },
          { value: 'no', ...no },
        ]}
        onChoose={setHas}
      />
      {has === 'yes' && <Fields />}
    </>
  );
}

function ContractStep() {
  return <ContractFields />;
}

function WebhookFields() {
  return (
    <>
      <Field label="Name" name="name" value="Webhook" />
      {ruleKinds.WEBHOOK.fields({})}
      <div class="wide">
        <Note kind="warn">
          It is asked from the first operation on. Let your server answer before wallets get the apiKey.
        </Note>
      </div>
    </>
  );
}
