/** What shells need so that they ask this program. */

const bash = `# bash completion of sdewan: source <(sdewan completion bash)
_sdewan() {
  local IFS=$'\\n' lines
  lines=($("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)) || return
  [ "\${lines[-1]}" = :0 ] || compopt +o default 2>/dev/null
  unset 'lines[-1]'
  COMPREPLY=("\${lines[@]}")
}
complete -o default -F _sdewan sdewan
`;

const zsh = `#compdef sdewan
# zsh completion of sdewan: source <(sdewan completion zsh)
_sdewan() {
  local -a lines
  lines=("\${(@f)$(sdewan __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  local directive=\${lines[-1]}
  lines[-1]=()
  if (( \${#lines} )); then compadd -a lines
  elif [[ $directive == :0 ]]; then _files
  fi
}
compdef _sdewan sdewan
`;

const fish = `# fish completion of sdewan: sdewan completion fish | source
function __sdewan_complete
  set -l words (commandline -opc) (commandline -ct)
  sdewan __complete $words[2..-1] 2>/dev/null | string match -v -r '^:\\d$'
end
complete -c sdewan -f -a '(__sdewan_complete)'
complete -c sdewan -s f -l filename -r -F
complete -c sdewan -l kubeconfig -r -F
`;

export const scripts = { bash, zsh, fish } as const satisfies Record<string, string>;
export type Shell = keyof typeof scripts;
