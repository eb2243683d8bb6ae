/* forked.c: preloaded, this library has a program run in a forked process, in which libgemm was loaded before. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void forks(void)
{
	int status, child = fork();
	if (child != 0)
		_exit(waitpid(child, &status, 0) != child || status != 0);
}
