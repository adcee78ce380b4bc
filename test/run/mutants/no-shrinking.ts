/**
 * A property that fails under a mutant has done its work; the smallest example for it would take
 * most of the time.
 */
import * as fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
