import { useState } from 'preact/hooks';
import { useEntered, type Values } from '../parts/form-facts.js';
import { Field, OpenForm, Options } from '../parts/form.js';
import type { Known } from '../paymasters.js';
import { CommonFields } from './common-fields.js';
import { create, objectName } from './create-object.js';
import { CycleFields, cycleOf } from './cycle.js';
import { ruleKinds } from './kinds.js';
import { units } from './limit-words.js';
import { decimal } from './limit.js';
import { WouldRefuse } from './would-refuse.js';

/** A limit by number or money, per cycle, per operation, or both. */
export function NewLimit({ paymaster, onDone }: { readonly paymaster: Known; readonly onDone: () => void }) {
  return (
    <OpenForm
      title="Set a limit"
      isEmptied
      onDone={onDone}
      beside={
        <WouldRefuse
          proposed={(values) => {
            const { object, spec } = newLimitOf(paymaster.object, values);
            return { kind: 'PaymasterPolicy', name: object, spec };
          }}
        />
      }
      send={async (values) => {
        const { name = '', threshold = '', perOperation = '' } = values;
        await create(newLimitOf(paymaster.object, values));
        return threshold === ''
          ? `The limit “${name}” refuses an operation that may cost more than ${perOperation}.`
          : `The limit “${name}” counts from now on.`;
      }}
    >
      <LimitFields />
    </OpenForm>
  );
}

/** Of what {@link LimitFields} send. */
export function newLimitOf(paymaster: string, values: Values) {
  const { name = '', scope, thresholdType, threshold = '', perOperation = '' } = values;
  const { campaign, enforcement } = values;
  const spendingLimit = {
    scope,
    thresholdType,
    ...(threshold !== '' && { threshold, ...cycleOf(values) }),
    ...(perOperation !== '' && { perOperation }),
  };
  const spec = {
    paymasterRef: { name: paymaster },
    name,
    policyType: 'PAYMASTER_SA_LIMIT',
    ...(campaign && { campaign }),
    ...(enforcement === 'Shadow' && { enforcement }),
    spendingLimit,
  };
  return { noun: 'policies', object: objectName(`${paymaster}-${name}`), spec } as const;
}

export function LimitFields() {
  const [unit, setUnit] = useState(useEntered('thresholdType') ?? 'COUNT');
  const [threshold, setThreshold] = useState(useEntered('threshold') ?? '');
  const [perOperation, setPerOperation] = useState(useEntered('perOperation') ?? '');
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
