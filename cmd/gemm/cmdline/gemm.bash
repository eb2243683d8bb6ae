# Completion of gemm for bash; gemm completion bash prints it. The package bash-completion loads it
# from share/bash-completion/completions; a ~/.bashrc has: source <(gemm completion bash)

_gemm() {
	local IFS=$' \t\n' current="${COMP_WORDS[COMP_CWORD]}" full word next line
	local -a words=() answer=()
	# readline separates words at = and at :, which do not end a word of gemm.
	for ((next = 0; next <= COMP_CWORD; next++)); do
		word="${COMP_WORDS[next]}"
		if ((next > 1)) && [[ "$word" == [=:]* || "${COMP_WORDS[next - 1]}" == [=:] ]]; then
			words[${#words[@]} - 1]+="$word"
		else
			words+=("$word")
		fi
	done
	full="${words[${#words[@]} - 1]}"
	unset "words[${#words[@]} - 1]"
	[[ "$current" != [=:]* ]] || current=""

	COMPREPLY=()
	mapfile -t answer < <("${words[@]/#\~\//$HOME/}" "=$full" --generate-bash-completion 2>/dev/null </dev/null)
	for line in "${answer[@]}"; do
		case "$line" in
		:files)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			;;
		:folders)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -d -- "$current")
			;;
		:more) compopt -o nospace ;;
		*)
			word="${line%%$'\t'*}"
			COMPREPLY+=("${word:${#full}-${#current}}")
			;;
		esac
	done
}
complete -F _gemm gemm
