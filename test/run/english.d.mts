export declare const vagueWordsIn: (text: string) => readonly string[];
