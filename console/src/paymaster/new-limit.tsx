import { useState } from 'preact/hooks';
import { Field, OpenForm, Options } from '../parts/form.js';
import type { Known } from '../paymasters.js';
import { CommonFields } from './common-fields.js';
import { create, objectName } from './create-object.js';
import { CycleFields, cycleOf } from './cycle.js';
import { ruleKinds } from './kinds.js';
import { units } from './limit-words.js';
import { decimal } from './limit.js';

/** A limit by number or money, per cycle, per operation, or both. */
export function NewLimit({ paymaster, onDone }: { readonly paymaster: Known; readonly onDone: () => void }) {
  return (
    <OpenForm
      title="Set a limit"
      isEmptied
      onDone={onDone}
      send={async (values) => {
        const { name = '', scope, thresholdType, threshold = '', perOperation = '' } = values;
        const { campaign, enforcement } = values;
        const spendingLimit = {
          scope,
          thresholdType,
          ...(threshold !== '' && { threshold, ...cycleOf(values) }),
          ...(perOperation !== '' && { perOperation }),
        };
        const spec = {
          paymasterRef: { name: paymaster.object },
          name,
          policyType: 'PAYMASTER_SA_LIMIT',
          ...(campaign && { campaign }),
          ...(enforcement === 'Shadow' && { enforcement }),
          spendingLimit,
        };
        await create('policies', objectName(`${paymaster.object}-${name}`), spec);
        return threshold === ''
          ? `The limit “${name}” refuses an operation that may cost more than ${perOperation}.`
          : `The limit “${name}” counts from now on.`;
      }}
    >
      <LimitFields />
    </OpenForm>
  );
}

function LimitFields() {
  const [unit, setUnit] = useState('COUNT');
  const [threshold, setThreshold] = useState('');
  const [perOperation, setPerOperation] = useState('');
  return (
    <>
      <Field label="Name" name="name" />
      <Options
        label="For"
        name="scope"
        of={{ PAYMASTER: 'all accounts together', SMART_ACCOUNT: 'each account' }}
      />
      <Field
        label="At most"
        name="threshold"
        isOptional={unit !== 'COUNT' && perOperation !== ''}
        inputMode="decimal"
        pattern={decimal}
        onInput={setThreshold}
      />
      <Options label="Of" name="thresholdType" of={units} onChoose={setUnit} />
      {unit !== 'COUNT' && (
        <Field
          label={`Most that one operation may cost, in ${units[unit] ?? ''}`}
          name="perOperation"
          isOptional={threshold !== ''}
          inputMode="decimal"
          pattern={decimal}
          onInput={setPerOperation}
        />
      )}
      {(unit === 'COUNT' || threshold !== '' || perOperation === '') && <CycleFields />}
      <CommonFields kind={ruleKinds.PAYMASTER_SA_LIMIT} />
    </>
  );
}
