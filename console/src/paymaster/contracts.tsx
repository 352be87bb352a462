import { useState } from 'preact/hooks';
import { call, can, useLive } from '../api.js';
import { OutcomeNote, useOutcome, readValues } from '../parts/form.js';
import { OnChain } from '../parts/on-chain.js';
import { Badge, Card, Note, Shown, Table } from '../parts/parts.js';
import { type Known, listAllPages, type OfPaymaster } from '../paymasters.js';
import type { Contract } from '../records.js';
import { route } from '../route.js';
import { ChangeForm } from './common-fields.js';
import { checkedMethods, MethodChoices, NewContract } from './new-contract.js';
import { Actions, type Verbs } from './objects.js';
import { type Proposed, WouldRefuse } from './would-refuse.js';

/** The contracts of a paymaster, and the methods that it pays for. */
export function Contracts({ paymaster, onChanged }: OfPaymaster) {
  const { object } = paymaster;
  const contracts = useLive(`contracts ${object}`, () => listAllPages('contracts', object));
  const reload = (): void => (contracts.reload(), onChanged());
  const { outcome, run } = useOutcome(reload);
  const { change } = route.value.query;
  const changed = contracts.data?.find(({ name }) => name === change);
  return (
    <Card title="Contracts and methods that are sponsored">
      <OutcomeNote outcome={outcome} />
      <Shown
        live={contracts}
        empty={`No contract is registered, so this paymaster ${paymaster.defaultContractAction === 'Deny' ? 'pays for no call' : 'may pay for calls of anything'}.${can() ? ' Register one with its ABI, and choose the methods to pay for.' : ''}`}
      >
        {(all) => (
          <Table
            caption="Contracts"
            id={({ name }) => name}
            rows={all}
            columns={[
              {
                name: 'Contract',
                of: ({ spec, createdBy }) => (
                  <>
                    {spec.name} <span class="quiet">by {createdBy}</span>
                  </>
                ),
                by: ({ spec }) => spec.name,
              },
              {
                name: 'Address',
                of: ({ spec }) => (
                  <OnChain chainId={paymaster.chainId} label={`address of ${spec.name}`}>
                    {spec.address}
                  </OnChain>
                ),
              },
              { name: 'Sponsored methods', of: ({ spec }) => spec.whitelistedMethods?.join(', ') || 'none' },
              { name: 'Not sponsored', of: (contract) => otherMethods(contract).join(', ') || 'none' },
              {
                name: 'State',
                of: ({ spec }) =>
                  spec.active === false ? <Badge>paused</Badge> : <Badge of="pass">active</Badge>,
              },
              can() && {
                name: 'Change',
                of: (contract) => (
                  <Actions object={contract} verbs={listVerbs(contract, all, paymaster)} run={run} />
                ),
              },
            ]}
          />
        )}
      </Shown>
      {can() && (
        <>
          {changed && <ChangeContract key={changed.name} contract={changed} onDone={reload} />}
          <NewContract paymaster={paymaster} onDone={reload} />
        </>
      )}
    </Card>
  );
}

function otherMethods({ spec, status: { methods = [] } }: Contract): readonly string[] {
  return methods.filter((name) => !spec.whitelistedMethods?.includes(name));
}

/** Without an active contract a paymaster that does not deny pays for anything, which people do not expect of a pause. */
function listVerbs(contract: Contract, all: readonly Contract[], paymaster: Known): Verbs {
  const isLast = all.every((each) => each === contract || each.spec.active === false);
  const opens = isLast && contract.spec.active !== false && paymaster.defaultContractAction !== 'Deny';
  const says = opens
    ? 'No other contract is active: this paymaster may then pay for calls of ANY contract.'
    : 'Calls of its methods are no longer paid for.';
  return {
    noun: 'contracts',
    pausing: says,
    deleting: `${says} It is gone for good, with its ABI.`,
    paused: opens ? 'no contract is active, so calls of anything may be paid for.' : 'its calls are refused.',
  };
}

function ChangeContract({ contract, onDone }: { readonly contract: Contract; readonly onDone: () => void }) {
  const { name, spec, status } = contract;
  const { whitelistedMethods: present = [] } = spec;
  // A page that leads here may say what to add, which is saved by the reader alone.
  const { methods: added = '' } = route.value.query;
  const known = [...new Set([...(status.methods ?? []), ...present])];
  const chosen = added.split(',').filter((each) => known.includes(each) && !present.includes(each));
  const [checked, setChecked] = useState<readonly string[]>([...present, ...chosen]);
  const isStricter = present.some((each) => !checked.includes(each));
  const proposed = (values: Readonly<Record<string, string>>): Proposed => ({
    kind: 'SmartContract',
    name,
    spec: { ...spec, whitelistedMethods: checkedMethods(values) },
  });
  return (
    <ChangeForm
      of={contract}
      onDone={onDone}
      beside={isStricter && <WouldRefuse proposed={proposed} />}
      send={async (values) => {
        const whitelistedMethods = checkedMethods(values);
        await call(`/manage/v1/contracts/${name}`, {
          method: 'PATCH',
          body: { spec: { whitelistedMethods } },
        });
        return `Of “${spec.name}” calls of ${whitelistedMethods.join(', ') || 'no method'} are paid for.`;
      }}
    >
      {chosen.length > 0 && (
        <div class="wide">
          <Note kind="warn">
            The link that led here chose {chosen.join(', ')}: once you save, that is paid for.
          </Note>
        </div>
      )}
      <div
        class="wide"
        onInput={({ currentTarget }) => setChecked(checkedMethods(readValues(currentTarget.closest('form'))))}
      >
        <MethodChoices
          // Signatures of overloads are in the spec alone.
          methods={known}
          checked={[...present, ...chosen]}
          empty="Its methods are not known yet."
        />
      </div>
    </ChangeForm>
  );
}
