/** Thrown when a rule of money is broken: the number of the rule, and what broke it. */
export class BrokenRule extends Error {
  readonly rule: number;

  constructor(rule: number, message: string) {
    super(`rule ${rule}: ${message}`);
    this.name = 'BrokenRule';
    this.rule = rule;
  }
}
