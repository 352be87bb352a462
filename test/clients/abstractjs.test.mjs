import * as sdk from '@biconomy/abstractjs';
import { abstractjsTests } from './abstractjs.mjs';

abstractjsTests(sdk);
