import { useContext } from 'preact/hooks';
import { FormContext, type Values } from '../parts/form-facts.js';
import { Boxes } from '../parts/form.js';

/** In front of the name of a method, in names of controls. */
const method = 'method ';

export function MethodChoices({
  methods,
  checked = [],
  empty,
}: {
  readonly methods: readonly string[];
  readonly checked?: readonly string[];
  readonly empty: string;
}) {
  const { entered } = useContext(FormContext);
  const present = [...checked, ...checkedMethods(entered)];
  return (
    <Boxes legend="Methods to pay for" name="whitelistedMethods">
      {methods.length === 0 && <span class="quiet">{empty}</span>}
      {methods.map((each) => (
        <label key={each}>
          <input type="checkbox" name={method + each} defaultChecked={present.includes(each)} /> {each}
        </label>
      ))}
    </Boxes>
  );
}

/** Those of {@link MethodChoices} in what a form sends. */
export function checkedMethods(values: Values): readonly string[] {
  return Object.keys(values)
    .filter((key) => key.startsWith(method))
    .map((key) => key.slice(method.length));
}
