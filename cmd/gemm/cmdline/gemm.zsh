#compdef gemm
# Completion of gemm for zsh; gemm completion zsh prints it. zsh loads it as _gemm from a folder of
# fpath, such as share/zsh/site-functions.

_gemm() {
	local line full="${(Q)words[CURRENT]}" end=' '
	local -a answer candidates descriptions
	answer=("${(@f)$("${(@Q)words[1,CURRENT-1]}" "=$full" --generate-bash-completion 2>/dev/null </dev/null)}")
	for line in "${answer[@]}"; do
		case "$line" in
		('') ;;
		(:files) compset -P '--*='; _files; return ;;
		(:folders) compset -P '--*='; _files -/; return ;;
		(:more) end=, ;;
		(*)
			candidates+=("${line%%$'\t'*}")
			descriptions+=("${line%%$'\t'*}  ${line#*$'\t'}")
			;;
		esac
	done
	compadd -q -S "$end" -l -d descriptions -a candidates
}

if [ "$funcstack[1]" = _gemm ]; then _gemm "$@"; else compdef _gemm gemm; fi
